// Whether a path is alive: tail probes, silent paths, suspect paths and their return.
#include "transport/path/path_liveness.h"

#include <gtest/gtest.h>

#include <set>

#include "transport/testing/send_fixture.h"

namespace heddle::transport {
namespace {

using events::LossCause;
using events::RecoveryStep;

class PathLivenessTest : public SendTest {};

TEST_F(PathLivenessTest, AnUnansweredTailIsProbed) {
  open(1);
  ASSERT_TRUE(send(2));
  wait(millis(5));
  EXPECT_EQ(probes_[0], 1);
  EXPECT_EQ(steps(RecoveryStep::kTailProbe), 1u);
  EXPECT_LT(sender_.first_unanswered(), now_);
  ack(0, {{3, 3}});  // the probe arrived, so the two before it did not
  EXPECT_EQ(keeper_.lost, 2u);
}

TEST_F(PathLivenessTest, APathThatIsSilentWhileAnotherDeliversBecomesSuspect) {
  open(2);
  ASSERT_TRUE(send(4));
  const uint16_t silent = quota_.path;
  now_ += millis(4);
  ASSERT_TRUE(send(4));
  ASSERT_NE(quota_.path, silent);
  ack(quota_.path, {{1, 4}});
  EXPECT_FALSE(path(silent).active);
  EXPECT_EQ(keeper_.lost, 4u);
  EXPECT_EQ(keeper_.last_cause, LossCause::kPathFailure);
  EXPECT_TRUE(controller_->losses.back().path_failure);
  // It carries nothing more.
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(send(1));
    EXPECT_NE(quota_.path, silent);
    EXPECT_NE(sender_.control_path(), silent);
  }
}

TEST_F(PathLivenessTest, AShortSilenceLeavesAPathActive) {
  open(2);
  ASSERT_TRUE(send(4));
  const uint16_t slow = quota_.path;
  now_ += millis(2);
  ASSERT_TRUE(send(4));
  ack(quota_.path, {{1, 4}});
  EXPECT_TRUE(path(slow).active);
}

TEST_F(PathLivenessTest, TheOnlyActivePathIsNeverSilent) {
  open(1);
  ASSERT_TRUE(send(4));
  now_ += millis(50);
  ASSERT_TRUE(send(4));
  ack(0, {{5, 8}});
  EXPECT_TRUE(path(0).active);
}

TEST_F(PathLivenessTest, ASuspectPathIsProbedUntilItAnswers) {
  open(2);
  ASSERT_TRUE(send(4));
  const uint16_t silent = quota_.path;
  now_ += millis(4);
  ASSERT_TRUE(send(4));
  ack(quota_.path, {{1, 4}});
  drain_probes();
  wait(seconds(3));
  EXPECT_GE(probes_[silent], 10);  // at least every quarter of a second
  EXPECT_LE(probes_[silent], 40);
  EXPECT_EQ(steps(RecoveryStep::kPathReturned), 0u);
  const uint64_t newest = 4 + static_cast<uint64_t>(probes_[silent]);
  ASSERT_TRUE(ack(silent, {{newest, newest}}));
  EXPECT_TRUE(path(silent).active);
  EXPECT_EQ(steps(RecoveryStep::kPathReturned), 1u);
  std::set<uint16_t> used;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(send(1));
    used.insert(quota_.path);
  }
  EXPECT_TRUE(used.contains(silent));
}

TEST_F(PathLivenessTest, WhenNoPathAnswersAllBecomeSuspectAndAreProbed) {
  open(3);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send(2));
  wait(seconds(2));
  EXPECT_FALSE(sender_.any_active());
  EXPECT_EQ(keeper_.lost, 6u);
  EXPECT_FALSE(send());
  for (uint16_t id = 0; id < 3; ++id) EXPECT_GE(probes_[id], 4) << id;
  EXPECT_LT(sender_.first_unanswered(), seconds(10) + millis(200));
}

TEST_F(PathLivenessTest, ASuspectPathAmongActiveOnesLeavesThePeerAlive) {
  open(2);
  ASSERT_TRUE(send(4));
  now_ += millis(4);
  ASSERT_TRUE(send(4));
  ack(quota_.path, {{1, 4}});
  sender_.peer_was_heard();
  wait(seconds(2));
  EXPECT_EQ(sender_.first_unanswered(), Nanos::never());
}

// The frames of a packet may have any order.
TEST_F(PathLivenessTest, APathAcknowledgedInTheSamePacketIsNotSilent) {
  open(2);
  record(0, 1, 1000);
  record(1, 1, 1000);
  now_ += millis(5);
  record(1, 1, 1000);
  now_ += micros(100);
  ASSERT_TRUE(sender_.on_ack(now_, Nanos{}, frame_of(1, {{1, 2}})));
  ASSERT_TRUE(sender_.on_ack(now_, Nanos{}, frame_of(0, {{1, 1}})));
  sender_.after_acks(now_);
  EXPECT_EQ(steps(RecoveryStep::kPathSetAside), 0u);
  EXPECT_EQ(keeper_.lost, 0u);
}

}  // namespace
}  // namespace heddle::transport
