// Paths whose packets are late: they are asked long before a tail probe is due.
#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "transport/testing/flight_fixture.h"

namespace heddle::transport {
namespace {

using events::LossCause;
using events::RecoveryStep;

// An acknowledgement tells of all that has arrived, on every path.
TEST_F(FlightTest, APathWhosePacketWasOvertakenByOthersIsAskedLongBeforeAProbeIsDue) {
  open(3);
  record(0, 4, 1000);
  now_ += nanos(1);
  record(1, 4, 1000);
  now_ += micros(100);
  ack(1, {{1, 4}});
  record(2, 1, 1000);  // nothing tells that this one is late
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

TEST_F(FlightTest, APathThatDoesNotAnswerIsAskedLessAndLess) {
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

TEST_F(FlightTest, WhereNothingFollowsThePathOfThePacketThatAskedIsAsked) {
  open(2);
  record(0, 1, 1000);
  now_ += micros(100);
  ack(0, {{1, 1}});
  record(0, 1, 1000);
  SentRun* run = flight_.record(1, 1);
  run->data = run->asks = true;
  run->header_bytes = kDataHeaderBytes;
  flight_.sent(now_, 1);
  wait(micros(600));
  EXPECT_EQ(probes_, (std::map<uint16_t, int>{{1, 1}}));
  // Its answer overtakes what is missing on the other.
  ack(1, {{2, 2}});
  wait(micros(600));
  EXPECT_EQ(probes_, (std::map<uint16_t, int>{{0, 1}, {1, 1}}));
}

}  // namespace
}  // namespace heddle::transport
