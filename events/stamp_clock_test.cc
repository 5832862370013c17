// Times from a tick counter, compared with test clocks that drift, are slewed and jump, and with
// this machine's clock.
#include "events/stamp_clock.h"

#include <gtest/gtest.h>
#include <time.h>

namespace heddle::events {
namespace {

// A 3 GHz counter that is read in the middle of a comparison of 60 ns.
class Machine {
 public:
  TickScale scale;
  Nanos now = seconds(1'000);
  uint64_t ticks = 123'456'789;
  int64_t per_microsecond = 3'000;
  Nanos half = nanos(30);

  void pass(Nanos span) {
    now += span;
    ticks += static_cast<uint64_t>(span.count * per_microsecond / 1'000);
  }
  bool look() {
    const TickScale::Look look{now - half, ticks, now + half};
    return scale.add(look);
  }
  // Calls every `apart` and compares when due. Returns the largest error.
  Nanos run(Nanos span, Nanos apart) {
    Nanos most;
    for (const Nanos until = now + span; now < until;) {
      pass(apart);
      if (!scale.knows(ticks)) {
        EXPECT_TRUE(look());
        continue;
      }
      const Nanos off = scale.at(ticks) - now;
      most = std::max({most, off, Nanos{} - off});
    }
    return most;
  }
};

TEST(TickScale, IsUnknownUntilTwoComparisonsTenMillisecondsApart) {
  Machine machine;
  EXPECT_FALSE(machine.scale.knows(machine.ticks));
  EXPECT_TRUE(machine.look());
  machine.pass(millis(9));
  EXPECT_TRUE(machine.look());
  EXPECT_FALSE(machine.scale.knows(machine.ticks));
  machine.pass(millis(1));
  EXPECT_TRUE(machine.look());
  EXPECT_TRUE(machine.scale.knows(machine.ticks));
  machine.pass(millis(9));
  EXPECT_TRUE(machine.scale.knows(machine.ticks));
  machine.pass(millis(2));
  EXPECT_FALSE(machine.scale.knows(machine.ticks));
}

TEST(TickScale, ErrorIsAtMostTheDurationOfAComparison) {
  Machine machine;
  EXPECT_LE(machine.run(seconds(2), micros(7)), machine.half + nanos(1));
  const TickScale::Error error = machine.scale.take_error();
  EXPECT_GT(error.looks, 100u);
  EXPECT_LE(error.most, 2 * machine.half + nanos(1));
  EXPECT_GE(error.most, machine.half);
  EXPECT_EQ(machine.scale.take_error().looks, 0u);
}

TEST(TickScale, IsNeverAheadOfAnEvenClock) {
  Machine machine;
  machine.run(millis(50), micros(10));
  for (int i = 0; i < 100'000; ++i) {
    machine.pass(micros(3));
    if (!machine.scale.knows(machine.ticks)) {
      machine.look();
      continue;
    }
    ASSERT_LE(machine.scale.at(machine.ticks), machine.now);
  }
}

TEST(TickScale, FollowsASlewedClock) {
  Machine machine;
  machine.run(seconds(1), micros(10));
  machine.scale.take_error();
  machine.per_microsecond = 3'001;  // 333 ppm
  const Nanos most = machine.run(millis(500), micros(10));
  EXPECT_GE(most, micros(3));  // the error after one interval
  EXPECT_LE(most, micros(4));
  const TickScale::Error told = machine.scale.take_error();
  EXPECT_GE(told.most, most - nanos(20));
  EXPECT_LE(machine.run(seconds(1), micros(10)), machine.half + nanos(1));
}

TEST(TickScale, RestartsWhenTheCounterJumps) {
  for (const int64_t jump :
       {int64_t{-1'000'000'000}, int64_t{-40'000'000}, int64_t{5'000'000'000}}) {
    Machine machine;
    machine.run(seconds(1), micros(10));
    machine.ticks += static_cast<uint64_t>(jump);
    EXPECT_FALSE(machine.scale.knows(machine.ticks));
    EXPECT_LE(machine.run(seconds(1), micros(10)), machine.half + nanos(1)) << jump;
  }
}

TEST(TickScale, RestartsAfterALongGap) {
  Machine machine;
  machine.run(seconds(1), micros(10));
  machine.pass(seconds(3'600));
  EXPECT_FALSE(machine.scale.knows(machine.ticks));
  EXPECT_TRUE(machine.look());
  EXPECT_FALSE(machine.scale.knows(machine.ticks));
  EXPECT_LE(machine.run(seconds(1), micros(10)), machine.half + nanos(1));
}

TEST(TickScale, ImplausibleCountersAreNotUsed) {
  TickScale still;
  TickScale wild;
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(still.add({millis(20 * i), 7, millis(20 * i) + nanos(50)}));
    EXPECT_FALSE(still.knows(7));
    const uint64_t ticks = static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15;
    EXPECT_TRUE(wild.add({millis(20 * i), ticks, millis(20 * i) + nanos(50)}));
    EXPECT_FALSE(wild.knows(ticks));
  }
}

TEST(TickScale, ASlowComparisonIsRejected) {
  Machine machine;
  machine.run(seconds(1), micros(10));
  machine.pass(millis(11));
  machine.half = micros(2);
  EXPECT_FALSE(machine.look());
  EXPECT_FALSE(machine.scale.knows(machine.ticks));
  machine.half = nanos(30);
  EXPECT_TRUE(machine.look());
  EXPECT_TRUE(machine.scale.knows(machine.ticks));
}

Nanos system_clock() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return seconds(time.tv_sec) + nanos(time.tv_nsec);
}

// Also holds without an invariant counter: then the clock itself is used.
TEST(StampClock, IsMonotonicAndCloseToTheSystemsClock) {
  constexpr Nanos kMost = micros(20);  // ten times a comparison's limit; no clock slews that much
  StampClock clock(&system_clock);
  Nanos last;
  for (const Nanos until = system_clock() + millis(60); last < until;) {
    const Nanos before = system_clock();
    const Nanos now = clock.now();
    const Nanos after = system_clock();
    ASSERT_GE(now, last);
    ASSERT_GE(now, before - kMost);
    ASSERT_LE(now, after + kMost);
    last = now;
  }
  EXPECT_LE(clock.take_error().most, kMost);
}

Nanos slow_clock() {
  static Nanos now;  // NOLINT: used by one test thread only
  return now += micros(3);
}

TEST(StampClock, ASlowClockIsReadDirectly) {
  StampClock clock(&slow_clock);
  for (int i = 0; i < 1'000; ++i) {
    const Nanos first = clock.now();  // compilers choose the order in which arguments are evaluated
    EXPECT_GT(clock.now(), first);
  }
  EXPECT_EQ(clock.take_error().looks, 0u);
  const Nanos before = slow_clock();
  EXPECT_EQ(clock.now(), before + micros(3));
}

}  // namespace
}  // namespace heddle::events
