// The estimator against RFC 6298 in floating point, its window of minima, and its bounds.
#include "transport/path/round_trip.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace heddle::transport {
namespace {

TEST(RoundTrip, KnowsNothingAtFirst) {
  const RoundTrip round_trip;
  EXPECT_FALSE(round_trip.measured());
  EXPECT_EQ(round_trip.smoothed(), Nanos{});
  EXPECT_EQ(round_trip.minimum(), Nanos{});
  EXPECT_EQ(round_trip.probe_timeout(), RoundTrip::kTimeoutUnmeasured);
}

// It waited 100 ms for one whose first packet was lost, though the others took microseconds.
TEST(RoundTrip, OfAPathThatWasNeverMeasuredTheOthersTell) {
  RoundTrip round_trip;
  for (int i = 0; i < 100; ++i) round_trip.add(seconds(1), micros(50), micros(3));
  EXPECT_EQ(round_trip.probe_timeout(TripEstimate()), 2 * round_trip.probe_timeout() - micros(3));
}

TEST(RoundTrip, TheFirstSampleIsTheEstimate) {
  RoundTrip round_trip;
  round_trip.add(seconds(1), micros(100));
  EXPECT_TRUE(round_trip.measured());
  EXPECT_EQ(round_trip.smoothed(), micros(100));
  EXPECT_EQ(round_trip.variation(), micros(50));
  EXPECT_EQ(round_trip.latest(), micros(100));
  EXPECT_EQ(round_trip.minimum(), micros(100));
}

TEST(RoundTrip, FollowsRfc6298) {
  Random random(1);
  RoundTrip round_trip;
  double smoothed = 0;
  double variation = 0;
  for (int i = 0; i < 5'000; ++i) {
    const Nanos sample{static_cast<int64_t>(random.between(10'000, 3'000'000))};
    const double value = double(sample.count);
    variation = i == 0 ? value / 2 : variation * 0.75 + std::abs(smoothed - value) * 0.25;
    smoothed = i == 0 ? value : smoothed * 0.875 + value * 0.125;
    round_trip.add(seconds(1) + i * millis(1), sample);
    ASSERT_NEAR(double(round_trip.smoothed().count), smoothed, 10);
    ASSERT_NEAR(double(round_trip.variation().count), variation, 15);
    ASSERT_EQ(round_trip.latest(), sample);
  }
}

TEST(RoundTrip, SettlesOnASteadyNetwork) {
  RoundTrip round_trip;
  round_trip.add(seconds(1), millis(5));
  for (int i = 0; i < 200; ++i) round_trip.add(seconds(1), micros(20));
  EXPECT_NEAR(to_micros(round_trip.smoothed()), 20, 0.02);
  EXPECT_LE(round_trip.variation(), nanos(10));
}

TEST(RoundTrip, TheMinimumIsRememberedForHalfAWindowAndForgottenAfterAWhole) {
  RoundTrip round_trip;
  const Nanos start = seconds(100);
  round_trip.add(start, micros(30));
  for (Nanos t = millis(10); t <= RoundTrip::kWindow / 2; t += millis(10)) {
    round_trip.add(start + t, micros(90));
    ASSERT_EQ(round_trip.minimum(), micros(30));
  }
  for (Nanos t = RoundTrip::kWindow / 2; t <= RoundTrip::kWindow; t += millis(10)) {
    round_trip.add(start + t, micros(90));
  }
  EXPECT_EQ(round_trip.minimum(), micros(90)) << "the route may have become longer";
}

TEST(RoundTrip, ALowerMinimumCountsAtOnce) {
  RoundTrip round_trip;
  round_trip.add(seconds(1), micros(30));
  round_trip.add(seconds(1), micros(20));
  EXPECT_EQ(round_trip.minimum(), micros(20));
}

TEST(RoundTrip, AfterALongPauseOldMinimaAreGone) {
  RoundTrip round_trip;
  round_trip.add(seconds(1), micros(30));
  round_trip.add(seconds(3'600), micros(80));
  EXPECT_EQ(round_trip.minimum(), micros(80));
}

TEST(RoundTrip, TheTimeoutHasAFloorOfSlackAndGrowsWithVariation) {
  RoundTrip round_trip;
  for (int i = 0; i < 100; ++i) round_trip.add(seconds(1), micros(50));
  EXPECT_NEAR(to_micros(round_trip.probe_timeout()), 1'050, 1);
  for (int i = 0; i < 100; ++i) round_trip.add(seconds(1), i % 2 == 0 ? micros(50) : millis(4));
  EXPECT_EQ(round_trip.probe_timeout(), round_trip.smoothed() + 4 * round_trip.variation());
  EXPECT_GT(round_trip.probe_timeout(), millis(5));
}

TEST(RoundTrip, TheTimeoutLearnsOfAPeerThatIsScheduledLateAndForgetsIt) {
  RoundTrip round_trip;
  for (int i = 0; i < 100; ++i) round_trip.add(seconds(1), micros(50), micros(3));
  round_trip.add(seconds(1), micros(50), millis(7));
  EXPECT_NEAR(to_micros(round_trip.probe_timeout()), 8'050, 5);
  EXPECT_EQ(round_trip.latest(), micros(50)) << "which is not the network's";
  for (int i = 0; i < 10; ++i) round_trip.add(seconds(1), micros(50), micros(3));
  EXPECT_GT(round_trip.probe_timeout(), millis(4));
  for (int i = 0; i < 200; ++i) round_trip.add(seconds(1), micros(50), micros(3));
  EXPECT_LT(round_trip.probe_timeout(), micros(1'060));
}

TEST(RoundTrip, ASampleOutOfRangeIsClamped) {
  RoundTrip round_trip;
  round_trip.add(seconds(1), nanos(-5), nanos(-7));
  EXPECT_EQ(round_trip.latest(), nanos(1));
  EXPECT_TRUE(round_trip.measured());
  for (int i = 0; i < 100; ++i) round_trip.add(seconds(1), seconds(100'000), seconds(100'000));
  EXPECT_EQ(round_trip.latest(), Nanos{UINT32_MAX});
  EXPECT_LE(round_trip.smoothed(), Nanos{UINT32_MAX});
  EXPECT_GT(round_trip.probe_timeout(), seconds(8));
  for (int i = 0; i < 1'000; ++i) round_trip.add(seconds(1), nanos(1));
  EXPECT_TRUE(round_trip.measured()) << "a round trip of a nanosecond is one nevertheless";
}

}  // namespace
}  // namespace heddle::transport
