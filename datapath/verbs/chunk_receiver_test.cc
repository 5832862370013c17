// Who gets a receiving queue pair, how often, and when one ends.
#include "datapath/verbs/chunk_receiver.h"

#include <gtest/gtest.h>

#include "datapath/verbs/params.h"
#include "datapath/verbs/testing/exchange_end.h"
#include "datapath/verbs/testing/fake_verbs.h"

namespace heddle::datapath {
namespace {

using transport::FenceRequest;
using transport::NicEventKind;

constexpr uint64_t kSecret = 77;
constexpr uint32_t kConnection = 5;

class ChunkReceiverTest : public testing::Test {
 protected:
  void admit(uint32_t connection = kConnection, uint16_t paths = 4) {
    receiver_.admit({connection, paths, peer_.address()});
  }
  ExchangeMessage request(uint16_t path = 0, uint32_t epoch = 0) {
    ExchangeMessage message;
    message.path = path;
    message.epoch = epoch;
    message.from_connection = 9;
    message.to_connection = kConnection;
    message.attempt = ++attempts_;
    message.nonce = attempts_;
    message.secret = kSecret;
    return message;
  }
  // What the peer is answered; nothing: no answer.
  std::vector<ExchangeKind> ask(Nanos now, const ExchangeMessage& message) {
    receiver_.on_request(now, peer_.address(), message);
    if (!held_) let_end();
    return answers();
  }
  std::vector<ExchangeKind> answers() {
    std::vector<ExchangeKind> kinds;
    for (const ExchangeMessage& answer : peer_.take_from(own_)) {
      kinds.push_back(answer.kind);
      latest_ = answer;
    }
    return kinds;
  }
  void fence(uint16_t path, uint32_t epoch) {
    receiver_.stop({kConnection, path, epoch});
    receiver_.finish({kConnection, path, epoch});
    if (!held_) let_end();
  }
  // From now on queue pairs take long to end.
  void hold_ends() {
    held_ = true;
    fake_.hold_ends(true);
  }
  void let_end() {
    held_ = false;
    fake_.hold_ends(false);
    ender_.wait_for(ender_.latest());
    receiver_.settle();
  }
  void take_completions() {
    std::array<Completion, 256> done;
    const size_t count = device_->poll(done);
    for (size_t i = 0; i < count; ++i) receiver_.on_completion({}, done[i]);
  }

  const std::vector<ExchangeKind> answered_{ExchangeKind::kAnswer};
  const std::vector<ExchangeKind> refused_{ExchangeKind::kRefusal};
  const std::vector<ExchangeKind> dropped_{};
  FakeVerbs fake_;
  std::shared_ptr<VerbsDevice> device_ = fake_.open();
  QueuePairEnder ender_{device_};
  ExchangeEnd own_;
  ExchangeEnd peer_;
  Ring<transport::NicEvent> events_;
  ChunkReceiver receiver_{*device_, own_.exchange(), ender_, {.secret = kSecret}, events_};
  uint32_t attempts_ = 0;
  bool held_ = false;
  ExchangeMessage latest_;
};

TEST_F(ChunkReceiverTest, OnlyPeersOfOpenConnectionsGetQueuePairs) {
  EXPECT_EQ(ask({}, request()), refused_) << "no such connection";
  admit();
  EXPECT_EQ(ask({}, request()), answered_);
  EXPECT_EQ(ask({}, request(3)), answered_);
  EXPECT_EQ(ask({}, request(4)), refused_) << "the peer has four paths";
  ExchangeMessage stranger = request(1);
  stranger.secret = kSecret + 1;
  EXPECT_EQ(ask({}, stranger), dropped_);
  transport::Address elsewhere = peer_.address();
  elsewhere.host.back() = 2;
  receiver_.on_request({}, elsewhere, request(1));
  EXPECT_EQ(receiver_.pairs(), 2u) << "another host has seen the secret";
  fence(FenceRequest::kEveryPath, 0);
  EXPECT_EQ(fake_.alive(), 0u);
  EXPECT_EQ(ask(seconds(1), request()), refused_) << "it is over";
  EXPECT_EQ(receiver_.paths(), 0u);
}

// Regression: a request that was answered since it waited was answered once more, over the queue
// pair that the peer had got.
TEST_F(ChunkReceiverTest, ARequestThatALaterOneReplacedIsNotAnswered) {
  admit();
  EXPECT_EQ(ask({}, request()), answered_);
  hold_ends();
  EXPECT_EQ(ask(millis(20), request()), dropped_) << "the first queue pair has not ended";
  held_ = false;
  fake_.hold_ends(false);
  ender_.wait_for(ender_.latest());
  const ExchangeMessage later = request();
  receiver_.on_request(millis(40), peer_.address(), later);
  EXPECT_EQ(answers(), answered_);
  receiver_.settle();
  EXPECT_EQ(answers(), dropped_);
  EXPECT_EQ(latest_.nonce, later.nonce);
  EXPECT_EQ(receiver_.pairs(), 1u);
  EXPECT_EQ(fake_.made(), 2u);
}

// Regression: a peer with the secret invented connections until no other got a queue pair, and
// fences of paths without one were kept for ever.
TEST_F(ChunkReceiverTest, NothingIsKeptForConnectionsThatAreNotOpen) {
  for (uint32_t id = 100; id < 200; ++id) {
    ExchangeMessage message = request();
    message.to_connection = id;
    EXPECT_EQ(ask({}, message), refused_);
    receiver_.finish({id, 0, 1});
    receiver_.finish({id, FenceRequest::kEveryPath, 0});
  }
  admit();
  for (uint32_t path = 0; path < 100; ++path) fence(static_cast<uint16_t>(path), 1);
  EXPECT_EQ(receiver_.paths(), 4u);
  EXPECT_EQ(fake_.made(), 0u);
  EXPECT_EQ(events_.size(), 300u) << "every fence is answered";
}

// Regression: a new nonce each time destroyed and made queue pairs at full speed.
TEST_F(ChunkReceiverTest, APathGetsANewQueuePairOnceInTenMilliseconds) {
  admit();
  const ExchangeMessage first = request();
  EXPECT_EQ(ask({}, first), answered_);
  EXPECT_EQ(ask(millis(1), first), answered_) << "its answer was lost";
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ask(millis(9), request()), dropped_);
  EXPECT_EQ(fake_.made(), 1u);
  EXPECT_EQ(ask(millis(9), request(1)), answered_) << "another path";
  EXPECT_EQ(ask(millis(10), request()), answered_);
  EXPECT_EQ(fake_.made(), 3u);
  EXPECT_EQ(fake_.alive(), 2u);
  // A peer may ask for fences as well.
  fence(0, 1);
  EXPECT_EQ(ask(millis(11), request(0, 0)), refused_) << "that epoch is over";
  EXPECT_EQ(ask(millis(11), request(0, 1)), dropped_);
  EXPECT_EQ(ask(millis(20), request(0, 1)), answered_);
}

// Regression: the pair was kept, and nothing arrived on it any more.
TEST_F(ChunkReceiverTest, AQueueThatTakesNoReceiveIsBroken) {
  admit();
  ASSERT_EQ(ask({}, request()), answered_);
  const uint32_t pair = latest_.queue_pair;
  fake_.refuse_receives();
  for (uint32_t i = 0; i < verbs_params::kReceiveRow; ++i) fake_.arrive(pair, i);
  take_completions();
  let_end();
  EXPECT_EQ(events_.size(), verbs_params::kReceiveRow);
  EXPECT_EQ(fake_.alive(), 0u);
  const auto messages = peer_.take_from(own_);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].kind, ExchangeKind::kBroken);
}

// A late write could land until the kernel has ended the queue pair, so the fence's answer waits,
// and other connections do not.
TEST_F(ChunkReceiverTest, AFenceIsAnsweredOnceItsQueuePairHasEnded) {
  admit();
  receiver_.admit({kConnection + 1, 1, peer_.address()});
  ASSERT_EQ(ask({}, request()), answered_);
  hold_ends();
  fence(0, 1);
  EXPECT_TRUE(events_.empty());
  EXPECT_EQ(ask(millis(20), request(0, 0)), refused_) << "that epoch is over";
  receiver_.finish({kConnection + 1, 0, 1});
  EXPECT_EQ(events_.size(), 1u) << "nothing was written there";
  receiver_.settle();
  EXPECT_EQ(events_.size(), 1u);
  fence(FenceRequest::kEveryPath, 0);
  EXPECT_EQ(events_.size(), 1u) << "it is over, but may be written";
  let_end();
  ASSERT_EQ(events_.size(), 3u);
  EXPECT_EQ(events_[1].kind, NicEventKind::kFenced);
  EXPECT_EQ(events_[1].epoch, 1u);
  EXPECT_EQ(events_[2].path, FenceRequest::kEveryPath);
}

// Two queue pairs of one path at once could land their writes in any order.
TEST_F(ChunkReceiverTest, APathGetsAnotherQueuePairOnceTheEarlierOneHasEnded) {
  admit();
  ASSERT_EQ(ask({}, request()), answered_);
  hold_ends();
  const ExchangeMessage second = request();
  EXPECT_EQ(ask(millis(20), second), dropped_);
  EXPECT_EQ(ask(millis(40), second), dropped_) << "its repeat";
  ExchangeMessage stranger = request();
  stranger.from_connection = 10;
  EXPECT_EQ(ask(millis(60), stranger), refused_) << "the path belongs to another";
  EXPECT_EQ(fake_.made(), 1u);
  let_end();
  EXPECT_EQ(answers(), answered_);
  EXPECT_EQ(latest_.nonce, second.nonce);
  EXPECT_EQ(fake_.made(), 2u);
  EXPECT_EQ(fake_.alive(), 1u);
}

// A request that waits is of the old epoch, or of a connection that is over.
TEST_F(ChunkReceiverTest, AFenceEndsARequestThatWaits) {
  admit();
  ASSERT_EQ(ask({}, request()), answered_);
  hold_ends();
  EXPECT_EQ(ask(millis(20), request()), dropped_);
  fence(0, 1);
  let_end();
  EXPECT_EQ(answers(), dropped_);
  EXPECT_EQ(fake_.made(), 1u);
  EXPECT_EQ(fake_.alive(), 0u);
}

}  // namespace
}  // namespace heddle::datapath
