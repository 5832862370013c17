// The pacer keeps a rate over time for any pattern of calls, late ones included.
#include "transport/congestion/pacer.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace heddle::transport {
namespace {

constexpr Bytes kSegment = {1'500};

// Sends whole bursts for `span`, being asked when it is ready and up to `late` after; returns the
// bytes.
uint64_t send_for(Pacer& pacer, Nanos start, Nanos span, BitsPerSec rate, Nanos late,
                  Random& random) {
  uint64_t sent = 0;
  for (Nanos now = start; now < start + span;) {
    const Bytes allowed = pacer.allowance(now, rate, kSegment);
    if (allowed.count == 0) {
      const Nanos lateness{static_cast<int64_t>(random.below(late.count + 1))};
      EXPECT_GT(pacer.ready_at(), now) << "a refusal without a time to come back at";
      now = std::max(pacer.ready_at(), now) + lateness;
      continue;
    }
    pacer.on_sent(now, allowed, rate);
    sent += allowed.count;
  }
  return sent;
}

TEST(Pacer, KeepsTheRateExactlyWhenAskedInTime) {
  Random random(1);
  for (const BitsPerSec rate : {megabits_per_s(10), gigabits_per_s(1), gigabits_per_s(25),
                                gigabits_per_s(400), BitsPerSec{7'777'777'777}}) {
    Pacer pacer;
    const uint64_t sent = send_for(pacer, seconds(5), seconds(1), rate, {}, random);
    const double expected = double(rate.count) / 8;
    EXPECT_NEAR(double(sent), expected, expected * 1e-4 + 3 * 64'000);
  }
}

TEST(Pacer, CatchesUpWhereTimersFireLate) {
  Random random(2);
  Pacer pacer;
  const BitsPerSec rate = gigabits_per_s(10);
  const uint64_t sent = send_for(pacer, seconds(5), seconds(1), rate, micros(90), random);
  EXPECT_NEAR(double(sent), double(rate.count) / 8, double(rate.count) / 8 * 0.001);
}

TEST(Pacer, NeverExceedsTheRateByMoreThanWhatItMayCatchUp) {
  Random random(3);
  for (const BitsPerSec rate : {megabits_per_s(300), gigabits_per_s(5), gigabits_per_s(100)}) {
    Pacer pacer;
    Nanos now = seconds(1);
    const Nanos began = now;
    uint64_t sent = 0;
    for (int i = 0; i < 20'000; ++i) {
      now += nanos(static_cast<int64_t>(random.below(random.below(50) == 0 ? 2'000'000 : 20'000)));
      const Bytes allowed = pacer.allowance(now, rate, kSegment);
      if (allowed.count > 0) {
        pacer.on_sent(now, allowed, rate);
        sent += allowed.count;
      }
      const Nanos credit = std::max(transmit_time(Pacer::kBurstMost, rate), Pacer::kCatchUp);
      const uint64_t most =
          bytes_within(now - began + credit, rate).count + Pacer::kBurstMost.count;
      ASSERT_LE(sent, most);
    }
  }
}

TEST(Pacer, ABurstIsAtMost64KBAnd500usAndAtLeastASegment) {
  Pacer pacer;
  const Nanos now = seconds(1);
  EXPECT_EQ(pacer.allowance(now, gigabits_per_s(100), kSegment).count, 64'000u);
  EXPECT_EQ(pacer.allowance(now, megabits_per_s(1'024), kSegment).count, 64'000u);
  EXPECT_EQ(pacer.allowance(now, megabits_per_s(512), kSegment).count, 32'000u);
  EXPECT_EQ(pacer.allowance(now, megabits_per_s(1), kSegment), kSegment);
  EXPECT_EQ(pacer.allowance(now, gigabits_per_s(100), {65'536}).count, 65'536u);
}

TEST(Pacer, AZeroRateIsNotPaced) {
  Pacer pacer;
  const Nanos now = seconds(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(pacer.allowance(now, {}, kSegment), Pacer::kBurstMost);
    pacer.on_sent(now, Pacer::kBurstMost, {});
    EXPECT_LE(pacer.ready_at(), now);
  }
  // What was sent unpaced is not held against the first paced burst.
  EXPECT_GT(pacer.allowance(now, megabits_per_s(10), kSegment).count, 0u);
}

TEST(Pacer, CreditAfterIdlenessIsBounded) {
  Pacer pacer;
  const BitsPerSec rate = gigabits_per_s(10);
  pacer.on_sent(seconds(1), {64'000}, rate);
  const Nanos later = seconds(3'600);
  uint64_t at_once = 0;
  while (pacer.allowance(later, rate, kSegment).count > 0) {
    pacer.on_sent(later, {64'000}, rate);
    at_once += 64'000;
  }
  // 100 us at 10 Gb/s are 125,000 bytes: one burst, and one that uses up what is left.
  EXPECT_EQ(at_once, 2 * 64'000u);
}

// What leaves at once a second after another burst.
uint64_t sent_after_a_pause(BitsPerSec rate, bool idle) {
  Pacer pacer;
  pacer.on_sent(seconds(1), kSegment, rate);
  const Nanos later = seconds(2);
  if (idle) pacer.on_idle();
  uint64_t at_once = 0;
  while (pacer.allowance(later, rate, kSegment).count > 0) {
    pacer.on_sent(later, kSegment, rate);
    at_once += kSegment.count;
  }
  return at_once;
}

constexpr BitsPerSec kOfALongRoad = megabits_per_s(100);  // 125 kB of window over 10 ms

TEST(Pacer, AMessageAfterAPauseIsNotSpreadOverALongRoundTrip) {
  const uint64_t at_once = sent_after_a_pause(kOfALongRoad, true);
  EXPECT_GE(at_once, Pacer::kSavedMost.count);
  EXPECT_LE(at_once, Pacer::kSavedMost.count + kSegment.count);
}

// It cost a tenth of goodput over 100 km with Debian's socket buffers.
TEST(Pacer, APauseWithPacketsInFlightSavesNoBurst) {
  EXPECT_LE(sent_after_a_pause(kOfALongRoad, false), 2 * kSegment.count);
}

TEST(Pacer, TheAllowanceOfAnIdlePauseIsSpentOnce) {
  Pacer pacer;
  pacer.on_idle();
  Nanos now = seconds(1);
  while (pacer.allowance(now, kOfALongRoad, kSegment).count > 0) {
    pacer.on_sent(now, kSegment, kOfALongRoad);
  }
  now = seconds(2);
  pacer.on_sent(now, kSegment, kOfALongRoad);
  pacer.on_sent(now, kSegment, kOfALongRoad);
  EXPECT_EQ(pacer.allowance(now, kOfALongRoad, kSegment).count, 0u);
}

TEST(Pacer, WaitsOneBurstsTimeAfterABurst) {
  Pacer pacer;
  const BitsPerSec rate = gigabits_per_s(1);
  Nanos now = seconds(1);
  while (pacer.allowance(now, rate, kSegment).count > 0) pacer.on_sent(now, {62'500}, rate);
  const Nanos ready = pacer.ready_at();
  EXPECT_EQ(pacer.allowance(ready - nanos(1), rate, kSegment).count, 0u);
  EXPECT_EQ(pacer.allowance(ready, rate, kSegment).count, 62'500u);
  pacer.on_sent(ready, {62'500}, rate);
  EXPECT_EQ(pacer.ready_at(), ready + micros(500));
}

TEST(Pacer, SmallSendsCountByTheirSize) {
  Pacer pacer;
  const BitsPerSec rate = gigabits_per_s(1);
  Nanos now = seconds(1);
  while (pacer.allowance(now, rate, kSegment).count > 0) pacer.on_sent(now, {62'500}, rate);
  now = pacer.ready_at();
  pacer.on_sent(now, {125}, rate);
  EXPECT_EQ(pacer.ready_at(), now + micros(1));
}

TEST(Pacer, SizesPast64BitProductsAreStillRight) {
  Pacer pacer;
  const BitsPerSec rate = gigabits_per_s(8);  // a byte a nanosecond
  while (pacer.allowance(seconds(1), rate, kSegment).count > 0) {
    pacer.on_sent(seconds(1), {64'000}, rate);
  }
  for (const int bits : {20, 30, 31, 32, 33, 36}) {
    const Nanos now = pacer.ready_at();
    pacer.on_sent(now, {uint64_t{1} << bits}, rate);
    EXPECT_EQ(pacer.ready_at() - now, nanos(int64_t{1} << bits)) << bits;
  }
}

}  // namespace
}  // namespace heddle::transport
