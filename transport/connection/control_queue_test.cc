// ControlQueue: when frames leave, and what becomes of them when their packet is lost.
#include "transport/connection/control_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace heddle::transport {
namespace {

constexpr Nanos kNow = seconds(1);

ControlRecord record_of(FrameType type, uint16_t channel = 0) {
  return {type, 0, channel, 1, Sequence(), 0};
}

class ControlQueueTest : public ::testing::Test {
 protected:
  // Writes waiting frames into a packet with this much space.
  SentBurst write(size_t space = 1000) {
    std::vector<std::byte> bytes(space);
    Writer writer(bytes);
    SentBurst sent;
    queue_.write(sent, writer, [this](ControlRecord& record, Writer& to) {
      written_.push_back(record);
      to.put(static_cast<uint8_t>(record.type));
    });
    return sent;
  }

  Statistics statistics_;
  Observer observer_{nullptr, statistics_};
  ControlQueue queue_{observer_, 7};
  std::vector<ControlRecord> written_;
};

TEST_F(ControlQueueTest, AFrameThatIsSentIsDueAtOnce) {
  EXPECT_FALSE(queue_.due(kNow));
  queue_.send(record_of(FrameType::kCancelSend));
  EXPECT_TRUE(queue_.due(kNow));
  const SentBurst sent = write();
  EXPECT_EQ(sent.control_count, 1);
  EXPECT_FALSE(queue_.due(Nanos::never() - nanos(1)));
  EXPECT_TRUE(queue_.empty());
}

TEST_F(ControlQueueTest, AFrameThatMayWaitIsDueAtTheEarliestTimeGiven) {
  queue_.send_by(kNow);  // nothing waits
  EXPECT_EQ(queue_.due_at(), Nanos::never());
  queue_.records().push_back(record_of(FrameType::kGrant));
  queue_.send_by(kNow + millis(2));
  queue_.send_by(kNow + millis(1));
  queue_.send_by(kNow + millis(3));
  EXPECT_EQ(queue_.due_at(), kNow + millis(1));
  queue_.retry_at(kNow + millis(5));
  EXPECT_EQ(queue_.due_at(), kNow + millis(5));
}

TEST_F(ControlQueueTest, APacketTakesAsManyFramesAsItsRecordRemembers) {
  for (uint16_t i = 0; i < 7; ++i) queue_.send(record_of(FrameType::kGrant, i));
  EXPECT_EQ(write().control_count, SentBurst::kMaxControl);
  EXPECT_TRUE(queue_.due(kNow));
  EXPECT_EQ(write().control_count, 7 - SentBurst::kMaxControl);
  EXPECT_FALSE(queue_.due(kNow));
  for (uint16_t i = 0; i < 7; ++i) EXPECT_EQ(written_[i].channel, i);
}

TEST_F(ControlQueueTest, APacketWithoutSpaceTakesNoFrame) {
  queue_.send(record_of(FrameType::kGrant));
  EXPECT_EQ(write(kLargestFrameBytes).control_count, 0);
  EXPECT_TRUE(queue_.due(kNow));
}

TEST_F(ControlQueueTest, FramesOfALostPacketAreQueuedAgainAndCounted) {
  queue_.send(record_of(FrameType::kGrant, 1));
  queue_.send(record_of(FrameType::kClose, 2));
  const SentBurst sent = write();
  queue_.on_lost(sent, 3);
  EXPECT_TRUE(queue_.due(kNow));
  const SentBurst again = write();
  ASSERT_EQ(again.control_count, 2);
  EXPECT_EQ(again.control[0].channel, 1);
  EXPECT_EQ(again.control[1].channel, 2);
  const auto steps = [&](events::RecoveryStep step) {
    return statistics_.recovery_by_step[static_cast<size_t>(step)];
  };
  EXPECT_EQ(steps(events::RecoveryStep::kGrantRetransmit), 1u);
  EXPECT_EQ(steps(events::RecoveryStep::kControlRetransmit), 1u);
}

TEST_F(ControlQueueTest, AnswersCountUntilTheyAreAcknowledged) {
  const uint64_t most = ControlQueue::kMostAnswers;
  std::vector<SentBurst> in_flight;
  for (uint64_t i = 0; i < most + 1; ++i) queue_.send(record_of(FrameType::kDelivered));
  EXPECT_TRUE(queue_.crowded(0));
  EXPECT_FALSE(queue_.crowded(1));  // an operation that is posted allows one more
  while (!queue_.empty()) in_flight.push_back(write());
  EXPECT_TRUE(queue_.crowded(0));
  queue_.on_acked(in_flight[0], false);
  EXPECT_FALSE(queue_.crowded(0));
}

// Fenced answers once had no bound: a peer that asked for fences without end filled memory.
TEST_F(ControlQueueTest, EveryKindOfAnswerCounts) {
  for (const FrameType type :
       {FrameType::kDelivered, FrameType::kCancelReceive, FrameType::kFenced}) {
    ControlQueue queue(observer_, 1);
    for (uint64_t i = 0; i < ControlQueue::kMostAnswers; ++i) queue.send(record_of(type));
    SentBurst sent;
    std::array<std::byte, 1500> packet{};
    Writer writer(packet);
    queue.write(sent, writer, [](ControlRecord&, Writer&) {});
    EXPECT_FALSE(queue.crowded(0));
    queue.send(record_of(type));
    EXPECT_TRUE(queue.crowded(0)) << static_cast<int>(type);
  }
}

TEST_F(ControlQueueTest, AnswersOfAPacketThatArrivesAfterItsLossCountOnce) {
  for (uint64_t i = 0; i < ControlQueue::kMostAnswers; ++i) {
    queue_.send(record_of(FrameType::kCancelReceive));
  }
  const SentBurst sent = write();
  queue_.on_lost(sent, 0);
  queue_.on_acked(sent, true);  // it had been declared lost
  EXPECT_FALSE(queue_.crowded(0));
  queue_.send(record_of(FrameType::kCancelReceive));
  EXPECT_TRUE(queue_.crowded(0));
}

}  // namespace
}  // namespace heddle::transport
