// Lost packets: gaps, trimmed packets, spurious retransmissions, and for how long records are kept.
#include "transport/recovery/loss_detection.h"

#include <gtest/gtest.h>

#include "transport/testing/send_fixture.h"

namespace heddle::transport {
namespace {

using events::LossCause;
using events::RecoveryStep;

class LossDetectionTest : public SendTest {};

TEST_F(LossDetectionTest, PacketsBelowAGapAreDeclaredLostAndReported) {
  open(1);
  ASSERT_TRUE(send(10));
  ack(0, {{4, 10}});
  EXPECT_EQ(keeper_.lost, 3u);
  EXPECT_EQ(keeper_.last_cause, LossCause::kGap);
  ASSERT_EQ(controller_->losses.size(), 1u);
  EXPECT_EQ(controller_->losses[0].lost.count, 3u * SendController::kBaseDatagram);
  EXPECT_EQ(steps(RecoveryStep::kGapRetransmit), 1u);
  EXPECT_EQ(path(0).segments_lost, 3u);
}

TEST_F(LossDetectionTest, ASpuriousRetransmissionWidensTheReorderWindow) {
  open(1);
  ASSERT_TRUE(send(10));
  ack(0, {{4, 10}});
  ASSERT_EQ(keeper_.lost, 3u);
  now_ += micros(80);
  ack(0, {{1, 10}});
  EXPECT_EQ(controller_->spurious, 1);
  EXPECT_EQ(sender_.spurious_segments(), 3u);
  EXPECT_EQ(steps(RecoveryStep::kWindowWidened), 1u);
  // The same delay is not declared a loss again.
  ASSERT_TRUE(send(10));
  ack(0, {{14, 20}});
  EXPECT_EQ(keeper_.lost, 3u);
  wait(millis(1));
  ack(0, {{11, 20}});
  EXPECT_EQ(keeper_.lost, 3u);
}

TEST_F(LossDetectionTest, ATrimmedPacketIsLostAndItsPathStaysActive) {
  open(1);
  ASSERT_TRUE(send(20));
  EXPECT_FALSE(sender_.on_trimmed(now_, 0, 21)) << "never sent";
  EXPECT_FALSE(sender_.on_trimmed(now_, 0, 0));
  EXPECT_FALSE(sender_.on_trimmed(now_, 1, 1)) << "no such path";
  EXPECT_TRUE(sender_.on_trimmed(now_, 0, 20));
  EXPECT_TRUE(sender_.on_trimmed(now_, 0, 20)) << "told twice";
  EXPECT_EQ(keeper_.lost, 1u);
  EXPECT_EQ(keeper_.last_cause, LossCause::kTrimmed);
  EXPECT_EQ(steps(RecoveryStep::kTrimRetransmit), 1u);
  EXPECT_TRUE(path(0).active);
  EXPECT_TRUE(ack(0, {{1, 19}}));
  EXPECT_EQ(keeper_.lost, 1u);
  EXPECT_FALSE(sender_.awaits_ack());
}

// VOPR, seed 924 of its first options: losses were remembered until the next acknowledgement, and
// once they held every record nothing left that could be acknowledged.
TEST_F(LossDetectionTest, WithAnEmptyPoolRecordsOfLostPacketsAreReused) {
  open(1);
  lose_three();
  while (pool_.lent() < pool_.limit()) ASSERT_NE(pool_.lend(), kNoIndex);
  for (int i = 0; i < 2; ++i) {  // of three, a connection gets two thirds
    ASSERT_NE(sender_.record(0, 1), nullptr);
    sender_.sent(now_, 0);
  }
  EXPECT_EQ(sender_.record(0, 1), nullptr);
}

TEST_F(LossDetectionTest, RecordsOfLostPacketsAreDroppedWithoutAnAcknowledgement) {
  open(1);
  lose_three();
  wait(millis(200));
  EXPECT_EQ(pool_.lent(), 0u);
}

TEST_F(LossDetectionTest, ADeadPathKeepsNoRecordsOfItsProbes) {
  open(1);
  ASSERT_TRUE(send(1));
  wait(seconds(60));
  EXPECT_GT(probes_[0], 100);
  EXPECT_LE(pool_.lent(), 2u);
}

}  // namespace
}  // namespace heddle::transport
