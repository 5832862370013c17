// What recalls and failures leave of the chunks that wait for a queue pair or are in one.
#include "datapath/verbs/chunk_sender.h"

#include <gtest/gtest.h>

#include <array>

#include "datapath/verbs/testing/exchange_end.h"
#include "datapath/verbs/testing/fake_verbs.h"

namespace heddle::datapath {
namespace {

using transport::RecallRequest;

constexpr uint32_t kConnection = 5;

class ChunkSenderTest : public testing::TestWithParam<RdmaMode> {
 protected:
  bool reliable() const { return GetParam() == RdmaMode::kReliable; }
  void send(uint16_t path, uint32_t bytes, uint32_t epoch = 0) {
    transport::ChunkWrite write;
    write.from_connection = kConnection;
    write.to_connection = 9;
    write.number = ++numbers_;
    write.epoch = epoch;
    write.token = write_token(
        {.address = 4096, .remote_key = 1, .exchange_port = peer_.address().port, .secret = 77});
    transport::TxBurst burst;
    burst.to = peer_.address();
    burst.path = path;
    burst.payload_bytes = burst.last_payload_bytes = bytes;
    burst.write = &write;
    sender_.send({}, burst, bytes > 0 ? payload_.data() : nullptr, 1);
    sender_.flush();
  }
  // The peer answers all requests that have come; returns their number.
  size_t answer() {
    const std::vector<ExchangeMessage> requests = peer_.take_from(own_);
    for (ExchangeMessage message : requests) {
      message.kind = ExchangeKind::kAnswer;
      message.queue_pair = 1000;
      sender_.on_message(peer_.address(), message);
    }
    return requests.size();
  }
  // What was broken off until now has ended.
  void let_end() {
    ender_.wait_for(ender_.latest());
    sender_.settle();
  }
  void take_completions() {
    std::array<Completion, 64> done;
    const size_t count = device_->poll(done);
    for (size_t i = 0; i < count; ++i) sender_.on_completion(done[i]);
    sender_.flush();
  }
  // Of reliable writes, since the last call.
  std::vector<bool> outcomes() {
    std::vector<bool> all;
    while (!events_.empty()) all.push_back(events_.pop_front().ok);
    return all;
  }

  std::array<std::byte, 1024> payload_{};
  FakeVerbs fake_;
  std::shared_ptr<VerbsDevice> device_ = fake_.open();
  QueuePairEnder ender_{device_};
  ExchangeEnd own_;
  ExchangeEnd peer_;
  Ring<transport::NicEvent> events_;
  ChunkSender sender_{*device_, own_.exchange(), ender_, {.mode = GetParam()}, events_};
  uint64_t numbers_ = 0;
};

// A peer that answers and breaks what it answered, again and again, makes neither this process's
// queue pairs many nor its thread wait.
TEST_P(ChunkSenderTest, WhileTooManyQueuePairsEndNoneIsMade) {
  fake_.hold_ends(true);
  while (ender_.waiting() < verbs_params::kMostEnding) {
    auto made = QueuePair::create(*device_, {.id = 2});
    ASSERT_TRUE(made);
    ender_.end(std::move(*made));
  }
  send(0, 1000);
  EXPECT_EQ(answer(), 0u);
  if (reliable()) {
    EXPECT_EQ(outcomes(), std::vector<bool>{false});
  }
  fake_.hold_ends(false);
  let_end();
  send(0, 1000, 1);
  EXPECT_EQ(answer(), 1u);
}

// A peer that leaves a request unanswered until the message is over gets no later bytes.
TEST_P(ChunkSenderTest, ARecalledChunkThatWaitsForItsQueuePairIsNeverPosted) {
  send(0, 1000);
  send(0, 0);
  send(1, 1000);
  sender_.recall({kConnection, 0});
  EXPECT_EQ(outcomes().size(), 0u) << "it never began";
  EXPECT_EQ(answer(), 2u);
  const auto writes = fake_.writes();
  ASSERT_EQ(writes.size(), 2u);
  EXPECT_EQ(writes[0].bytes, 0u) << "the probe of path 0 reads nothing";
  EXPECT_EQ(writes[1].bytes, 1000u) << "of path 1";
}

TEST_P(ChunkSenderTest, ARecallEndsTheQueuePairThatMayReadPayload) {
  send(0, 1000);
  send(1, 1000);
  send(2, 0);
  ASSERT_EQ(answer(), 3u);
  for (int i = 0; i < 100; ++i) send(0, 1000);  // some of them wait for room in the queue
  ASSERT_EQ(sender_.connected(), 3u);
  sender_.recall({kConnection, 0});
  let_end();
  EXPECT_EQ(sender_.connected(), 2u);
  EXPECT_EQ(fake_.alive(), 2u);
  EXPECT_EQ(fake_.writes().size(), 2u);
  EXPECT_EQ(outcomes(), reliable() ? std::vector<bool>(101, false) : std::vector<bool>());
  sender_.recall({kConnection, RecallRequest::kEveryPath});
  let_end();
  EXPECT_EQ(sender_.connected(), 1u) << "the path with a probe alone stays";
  EXPECT_EQ(outcomes().size(), reliable() ? 1u : 0u);
  sender_.recall({kConnection + 1, RecallRequest::kEveryPath});
  EXPECT_EQ(sender_.connected(), 1u);
}

TEST_P(ChunkSenderTest, AfterARecallThePathGoesOnWithANewQueuePair) {
  send(0, 1000);
  ASSERT_EQ(answer(), 1u);
  sender_.recall({kConnection, 0});
  send(0, 1000, reliable() ? 1 : 0);  // a reliable one needs a new epoch
  ASSERT_EQ(answer(), 1u);
  let_end();
  EXPECT_EQ(fake_.writes().size(), 1u);
  EXPECT_EQ(fake_.made(), 2u);
}

TEST_P(ChunkSenderTest, ARecallOfWhatHasEndedChangesNothing) {
  send(0, 1000);
  ASSERT_EQ(answer(), 1u);
  fake_.complete_write();
  take_completions();
  sender_.recall({kConnection, RecallRequest::kEveryPath});
  EXPECT_EQ(sender_.connected(), 1u);
  EXPECT_EQ(outcomes(), reliable() ? std::vector<bool>{true} : std::vector<bool>());
}

TEST_P(ChunkSenderTest, AWriteThatFailsEndsItsQueuePairAndNoOther) {
  send(0, 1000);
  send(1, 1000);
  ASSERT_EQ(answer(), 2u);
  for (int i = 0; i < 9; ++i) send(0, 1000);
  fake_.fail_write();
  take_completions();
  let_end();
  EXPECT_EQ(sender_.connected(), 1u);
  EXPECT_EQ(fake_.alive(), 1u);
  EXPECT_EQ(fake_.writes().size(), 1u) << "of path 1";
  EXPECT_EQ(outcomes(), reliable() ? std::vector<bool>(10, false) : std::vector<bool>());
  // The peer's end of a reliable one may be alive, so its path waits for a fence.
  send(0, 1000);
  EXPECT_EQ(answer(), reliable() ? 0u : 1u);
  EXPECT_EQ(outcomes(), reliable() ? std::vector<bool>{false} : std::vector<bool>());
  send(0, 1000, 1);
  EXPECT_EQ(answer(), 1u);
  EXPECT_EQ(sender_.connected(), 2u);
  let_end();
  EXPECT_EQ(fake_.alive(), 2u);
}

// Regression: soft-RoCE blocked the thread for seconds that ended queue pairs.
TEST_P(ChunkSenderTest, AQueuePairThatTakesLongToEndDelaysNothing) {
  fake_.hold_ends(true);
  send(0, 1000);
  send(0, 1000);
  send(1, 1000);
  ASSERT_EQ(answer(), 2u);
  fake_.fail_write();
  take_completions();
  EXPECT_EQ(fake_.alive(), 2u) << "the kernel has not ended it";
  EXPECT_EQ(outcomes(), reliable() ? std::vector<bool>{false} : std::vector<bool>())
      << "the NIC may still read the second write";
  EXPECT_GT(sender_.reads({kConnection, 0}), 0u);
  EXPECT_EQ(sender_.reads({kConnection, 1}), 0u);
  send(0, 1000, reliable() ? 1 : 0);
  EXPECT_EQ(answer(), 1u);
  EXPECT_EQ(sender_.connected(), 2u) << "the path goes on meanwhile";
  fake_.hold_ends(false);
  let_end();
  EXPECT_EQ(outcomes(), reliable() ? std::vector<bool>{false} : std::vector<bool>());
  EXPECT_EQ(sender_.reads({kConnection, RecallRequest::kEveryPath}), 0u);
  EXPECT_EQ(fake_.alive(), 2u);
}

TEST_P(ChunkSenderTest, WritesThatTheNicHasCompletedAreReadNoMore) {
  fake_.hold_ends(true);
  fake_.flush_broken_pairs();
  send(0, 1000);
  send(0, 1000);
  send(0, 0);
  ASSERT_EQ(answer(), 1u);
  sender_.recall({kConnection, 0});
  EXPECT_GT(sender_.reads({kConnection, 0}), 0u);
  EXPECT_TRUE(outcomes().empty());
  take_completions();
  EXPECT_EQ(sender_.reads({kConnection, 0}), 0u) << "before the kernel has ended it";
  EXPECT_EQ(outcomes(), reliable() ? std::vector<bool>(3, false) : std::vector<bool>());
  EXPECT_EQ(fake_.alive(), 1u);
  fake_.hold_ends(false);
  let_end();
  EXPECT_TRUE(outcomes().empty()) << "each is reported once";
}

TEST_P(ChunkSenderTest, AfterTheDevicesFailureNoChunkArrivesAndNoQueuePairIsMade) {
  send(0, 1000);
  ASSERT_EQ(answer(), 1u);
  send(1, 1000);
  sender_.give_up();
  let_end();
  EXPECT_EQ(sender_.connected(), 0u);
  EXPECT_EQ(fake_.alive(), 0u);
  EXPECT_EQ(outcomes(), reliable() ? std::vector<bool>(2, false) : std::vector<bool>());
  send(2, 1000);
  send(0, 1000, 1);
  EXPECT_EQ(outcomes(), reliable() ? std::vector<bool>(2, false) : std::vector<bool>());
  EXPECT_EQ(fake_.made(), 2u);
}

std::string mode_name(const testing::TestParamInfo<RdmaMode>& info) {
  return info.param == RdmaMode::kReliable ? "rc" : "uc";
}
INSTANTIATE_TEST_SUITE_P(Mode, ChunkSenderTest,
                         testing::Values(RdmaMode::kReliable, RdmaMode::kUnreliable), mode_name);

}  // namespace
}  // namespace heddle::datapath
