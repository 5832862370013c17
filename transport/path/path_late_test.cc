// Paths with late packets: they are probed after the tail-loss delay, long before the PTO.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "transport/recovery/ack_rules.h"
#include "transport/testing/send_fixture.h"

namespace heddle::transport {
namespace {

using events::LossCause;
using events::RecoveryStep;

class LatePathTest : public SendTest {};

// An acknowledgement reports all packets that have arrived, on every path.
TEST_F(LatePathTest, APathWithAnOvertakenPacketIsProbedBeforeThePto) {
  open(3);
  record(0, 4, 1000);
  now_ += nanos(1);
  record(1, 4, 1000);
  now_ += micros(100);
  ack(1, {{1, 4}});
  record(2, 1, 1000);  // no evidence that this one is late
  wait(micros(200));
  EXPECT_TRUE(probes_.empty());
  wait(micros(300));
  EXPECT_EQ(probes_, (std::map<uint16_t, int>{{0, 1}}));
  EXPECT_EQ(steps(RecoveryStep::kTailProbe), 1u);
  ack(0, {{5, 5}});
  EXPECT_EQ(keeper_.lost, 4u);
  EXPECT_EQ(keeper_.last_cause, LossCause::kGap);
  EXPECT_TRUE(path(0).active);
}

TEST_F(LatePathTest, ALatePathThatDoesNotAnswerIsProbedLessAndLess) {
  open(2);
  record(0, 1, 1000);
  record(1, 1, 1000);
  now_ += micros(100);
  ack(1, {{1, 1}});
  std::vector<int> probes;
  for (int i = 0; i < 4; ++i) {
    wait(micros(450));
    probes.push_back(probes_[0]);
  }
  EXPECT_EQ(probes, (std::vector<int>{1, 1, 2, 2}));
  EXPECT_TRUE(path(0).active) << "these say nothing of the path";
}

TEST_F(LatePathTest, PacketsThatLeaveTogetherDoNotOvertakeEachOther) {
  open(2);
  for (int i = 0; i < 5; ++i) record(0, 1, 1000);
  now_ += micros(100);
  ack(0, {{1, 4}});  // the peer may hold back that it has the fifth
  wait(millis(1));
  EXPECT_TRUE(probes_.empty());
}

// By one number only, so that this alone does not make it a loss.
TEST_F(LatePathTest, APathThatMissesThePacketBeforeItsNewestIsProbed) {
  open(2);
  for (int i = 0; i < 2; ++i) record(0, 1, 1000);
  now_ += micros(100);
  ack(0, {{2, 2}});
  EXPECT_EQ(keeper_.lost, 0u);
  wait(millis(1));
  EXPECT_EQ(probes_[0], 1);
  ack(0, {{2, 3}});
  EXPECT_EQ(keeper_.lost, 1u);
}

// No operation waits for it.
TEST_F(LatePathTest, APacketWithADeferredAckIsLateAMillisecondLater) {
  open(2);
  record(0, 1, 1000, &SentBurst::later);
  record(1, 1, 1000);
  now_ += micros(100);
  ack(1, {{1, 1}});
  wait(millis(1));
  EXPECT_TRUE(probes_.empty());
  wait(micros(600));
  EXPECT_EQ(probes_[0], 1);
}

// Each probe deferred the PTO, so that a dead path became suspect later.
TEST_F(LatePathTest, EarlyProbesDoNotDeferThePto) {
  open(2);
  const Nanos began = now_;
  record(0, 1, 1000);
  record(1, 1, 1000);
  now_ += micros(100);
  ack(1, {{1, 1}});
  while (sender_.is_active(0)) wait(micros(100));
  EXPECT_GT(probes_[0], 3);
  // Once, then twice and four times as long.
  EXPECT_LT(now_ - began, 7 * (micros(250) + RoundTrip::kSlackLeast + AckRules::kControlDelay));
}

TEST_F(LatePathTest, WhereNothingFollowsThePathOfTheNewestAskingPacketIsProbed) {
  open(2);
  record(0, 1, 1000);
  now_ += micros(100);
  ack(0, {{1, 1}});
  record(0, 1, 1000);
  record(1, 1, 1000, &SentBurst::asks);
  wait(micros(600));
  EXPECT_EQ(probes_, (std::map<uint16_t, int>{{1, 1}}));
  // Its answer overtakes what is missing on the other.
  ack(1, {{2, 2}});
  wait(micros(600));
  EXPECT_EQ(probes_, (std::map<uint16_t, int>{{0, 1}, {1, 1}}));
}

}  // namespace
}  // namespace heddle::transport
