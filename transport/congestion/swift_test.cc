// Swift as a controller: its target, and what it does above and below it.
#include "transport/congestion/swift.h"

#include <gtest/gtest.h>

#include <cmath>

#include "transport/congestion/sample_feed.h"

namespace heddle::transport {
namespace {

using model::SampleFeed;

constexpr uint64_t kSegment = 1'500;

ControllerOptions options_of(uint64_t segments) {
  return {
      .segment = {kSegment}, .initial_window = {segments * kSegment}, .limit = {uint64_t{1} << 30}};
}

// A Swift that has left slow start, at half of `segments`.
struct Settled {
  Swift swift;
  SampleFeed feed{.controller = swift};

  explicit Settled(uint64_t segments) : swift(options_of(segments)) { feed.lose(); }
};

// Section 3.2 of the paper with fs_min_cwnd = 2 and fs_max_cwnd = 100 segments, in floating point.
TEST(Swift, TheTargetIsTheLowestRoundTripAndAQueueWithFlowScaling) {
  for (const int64_t base_us : {5, 10, 49, 51, 200, 4'000}) {
    const double queue = std::max(25e3, double(base_us) * 1e3 / 2);
    for (const double segments : {2.0, 3.0, 7.0, 20.0, 64.0, 100.0, 5'000.0}) {
      const double range = queue / 4;
      const double a = range / (1 / std::sqrt(2.0) - 1 / std::sqrt(100.0));
      const double scaling = std::clamp(a / std::sqrt(segments) - a / std::sqrt(100.0), 0.0, range);
      const Nanos target = Swift::target_delay(
          micros(base_us), static_cast<uint64_t>(segments * kSegment), kSegment);
      EXPECT_NEAR(double(target.count), double(base_us) * 1e3 + queue + scaling, range * 0.002 + 2)
          << base_us << " us, " << segments << " segments";
    }
  }
}

TEST(Swift, DoublesUntilTheFirstDelayAboveTheTarget) {
  Swift swift(options_of(10));
  SampleFeed feed{.controller = swift};
  feed.round_trips(5);
  EXPECT_EQ(feed.window(), 320 * kSegment);
  feed.rtt = micros(400);
  feed.round_trip();
  const uint64_t cut = feed.window();
  EXPECT_LT(cut, 320 * kSegment);
  feed.rtt = micros(100);
  feed.round_trip();
  feed.round_trip();
  EXPECT_LE(feed.window(), cut + 3 * kSegment);
}

TEST(Swift, AddsOneSegmentARoundTripBelowTheTarget) {
  Settled settled(200);
  const double before = double(settled.feed.window());
  settled.feed.rtt = Swift::target_delay(micros(100), kSegment * 1'000, kSegment);
  settled.feed.round_trips(40);
  EXPECT_NEAR((double(settled.feed.window()) - before) / kSegment, 40, 0.5);
}

TEST(Swift, OneDecreaseARoundTripToBelowAnEmptyQueue) {
  Settled settled(400);
  settled.feed.rtt = micros(180);
  settled.feed.now += millis(1);
  const uint64_t before = settled.feed.window();
  // The first acknowledgements still share the recent ones' low delay; of the rest only one
  // decreases.
  settled.feed.round_trip(20);
  EXPECT_NEAR(double(settled.feed.window()), double(before) * 0.9 * 100 / 180, 2.0 * kSegment);
}

TEST(Swift, KeepsAFifthHoweverLongTheQueue) {
  Settled settled(400);
  settled.feed.rtt = millis(50);
  settled.feed.now += seconds(1);
  const uint64_t before = settled.feed.window();
  settled.feed.round_trip(20);
  EXPECT_NEAR(double(settled.feed.window()), double(before) / 5, 2.0 * kSegment);
}

TEST(Swift, AFewLateSamplesDoNotDecrease) {
  Settled settled(200);
  settled.feed.round_trip();
  const uint64_t before = settled.feed.window();
  for (int i = 0; i < 40; ++i) {
    settled.feed.now += micros(10);
    // Three late ones, one prompt.
    AckSample sample = settled.feed.ack_sample(kSegment);
    if (i % 4 != 0) sample.rtt = millis(7);
    settled.swift.on_ack(settled.feed.now, sample);
  }
  EXPECT_GT(settled.feed.window(), before);
}

TEST(Swift, IgnoresMarks) {
  Settled marked(200);
  Settled clean(200);
  for (int i = 0; i < 20; ++i) {
    marked.feed.round_trip(10, 1'000);
    clean.feed.round_trip(10, 0);
  }
  EXPECT_EQ(marked.feed.window(), clean.feed.window());
}

TEST(Swift, ALossHalves) {
  Swift swift(options_of(100));
  SampleFeed feed{.controller = swift};
  feed.lose();
  EXPECT_EQ(feed.window(), 50 * kSegment);
}

TEST(Swift, WorksFromTenMicrosecondsToMilliseconds) {
  for (const Nanos base : {micros(10), micros(100), millis(1), millis(20)}) {
    Swift swift(options_of(10));
    SampleFeed feed{.controller = swift, .rtt = base, .min_rtt = base};
    feed.round_trips(6);
    const uint64_t grown = feed.window();
    EXPECT_EQ(grown, 640 * kSegment);
    feed.rtt = 2 * base + micros(60);
    feed.round_trips(2);
    EXPECT_LT(feed.window(), grown);
    const uint64_t cut = feed.window();
    feed.rtt = base;
    feed.round_trips(4);
    EXPECT_GE(feed.window(), cut + 2 * kSegment);
  }
}

TEST(Swift, AsksForBurstsOfAQuarterOfTheWindow) {
  Swift large(options_of(400));
  EXPECT_EQ(large.burst_limit().count, 100 * kSegment);
  Swift small(options_of(3));
  EXPECT_EQ(small.burst_limit().count, kSegment);
}

}  // namespace
}  // namespace heddle::transport
