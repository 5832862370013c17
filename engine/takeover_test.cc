// The helper drives exactly while the caller is away, and checks no more often than necessary.
#include "engine/takeover.h"

#include <gtest/gtest.h>

namespace heddle::engine {
namespace {

TEST(Takeover, ActiveCallerKeepsTheEndpoint) {
  Takeover takeover(seconds(1), millis(5));
  for (int i = 1; i <= 100; ++i) {
    const Nanos now = seconds(1) + i * millis(4);
    EXPECT_FALSE(takeover.helper_may_drive(now));
    takeover.on_caller(now);
  }
}

TEST(Takeover, HelperDrivesAfterPatienceUntilTheCallerReturns) {
  Takeover takeover(seconds(1), millis(5));
  takeover.on_caller(seconds(2));
  EXPECT_FALSE(takeover.helper_may_drive(seconds(2) + millis(5) - nanos(1)));
  EXPECT_TRUE(takeover.helper_may_drive(seconds(2) + millis(5)));
  takeover.on_caller(seconds(3));
  EXPECT_FALSE(takeover.helper_may_drive(seconds(3)));
}

TEST(Takeover, ThreadInsideAWaitingCallKeepsTheEndpoint) {
  Takeover takeover(Nanos{}, millis(5));
  takeover.hold();
  EXPECT_FALSE(takeover.helper_may_drive(seconds(100)));
  takeover.let_go(seconds(100));
  EXPECT_FALSE(takeover.helper_may_drive(seconds(100)));
  EXPECT_TRUE(takeover.helper_may_drive(seconds(100) + millis(5)));
}

TEST(Takeover, NextCheckIsWhenTheCallersPatienceEnds) {
  Takeover takeover(Nanos{}, millis(5));
  takeover.on_caller(millis(7));
  EXPECT_EQ(takeover.next_look(millis(8), Nanos::never(), true), millis(12));
  takeover.hold();
  EXPECT_EQ(takeover.next_look(millis(20), millis(20), true), Nanos::never());
  takeover.let_go(millis(30));
  EXPECT_EQ(takeover.next_look(millis(31), millis(31), true), millis(35));
}

TEST(Takeover, DrivingHelperFollowsTimersAndPollsOnlyWithoutADescriptor) {
  Takeover takeover(Nanos{}, millis(5));
  const Nanos now = seconds(1);
  EXPECT_EQ(takeover.next_look(now, Nanos::never(), true), Nanos::never());
  EXPECT_EQ(takeover.next_look(now, now + seconds(2), true), now + seconds(2));
  EXPECT_EQ(takeover.next_look(now, now - millis(1), true), now);
  EXPECT_EQ(takeover.next_look(now, Nanos::never(), false), now + Takeover::kBlindPoll);
  EXPECT_EQ(takeover.next_look(now, now + micros(10), false), now + micros(10));
}

}  // namespace
}  // namespace heddle::engine
