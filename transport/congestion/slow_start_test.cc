// Slow start doubles, notices a queue, and is not fooled by a lone late sample.
#include "transport/congestion/slow_start.h"

#include <gtest/gtest.h>

namespace heddle::transport {
namespace {

constexpr Nanos kBase = micros(100);
constexpr BitsPerSec kRate = gigabits_per_s(100);

// Rounds of `samples` acknowledgements each, which together acknowledge the window.
class Rounds {
 public:
  explicit Rounds(uint64_t window) : window_(window) {}

  void pass(Nanos rtt, int samples = 16, Nanos one_late = {}) {
    const uint64_t before = window_;
    for (int i = 0; i < samples; ++i) {
      now_ += rtt / samples;
      AckSample sample{.sent_at = now_ - rtt,
                       .acked = {before / static_cast<uint64_t>(samples)},
                       .rtt = i == 0 && one_late > Nanos{} ? one_late : rtt,
                       .min_rtt = kBase,
                       .smoothed_rtt = rtt};
      if (!slow_start_.active(window_)) return;
      window_ += slow_start_.grow(now_, sample, window_, kRate);
    }
  }

  uint64_t window() const { return window_; }
  bool active() const { return slow_start_.active(window_); }
  SlowStart& slow_start() { return slow_start_; }

 private:
  SlowStart slow_start_;
  uint64_t window_;
  Nanos now_ = seconds(1);
};

TEST(SlowStart, DoublesEachRoundWhileTheDelayIsLow) {
  Rounds rounds(16'000);
  for (int i = 0; i < 10; ++i) rounds.pass(kBase);
  EXPECT_EQ(rounds.window(), 16'000u << 10);
  EXPECT_TRUE(rounds.active());
}

TEST(SlowStart, GrowsAQuarterAsFastOnceADelayStandsAndThenEnds) {
  Rounds rounds(160'000);
  rounds.pass(kBase);
  EXPECT_EQ(rounds.window(), 320'000u);
  const Nanos delayed = kBase + SlowStart::delay_threshold(kBase, kRate);
  for (int i = 0; i < 2; ++i) rounds.pass(delayed);
  const uint64_t noticed = rounds.window();
  rounds.pass(delayed);
  EXPECT_NEAR(double(rounds.window()), 1.25 * double(noticed), 16);
  for (int i = 0; i < 6; ++i) rounds.pass(delayed);
  EXPECT_FALSE(rounds.active());
  EXPECT_LT(rounds.window(), noticed * 4) << "five careful rounds grow by 1.25 each";
}

TEST(SlowStart, ADelayBelowTheThresholdIsNoQueue) {
  Rounds rounds(16'000);
  const Nanos delayed = kBase + SlowStart::delay_threshold(kBase, kRate) - nanos(1);
  for (int i = 0; i < 10; ++i) rounds.pass(delayed);
  EXPECT_EQ(rounds.window(), 16'000u << 10);
}

TEST(SlowStart, LateSamplesAmongPromptOnesAreNoQueue) {
  Rounds rounds(16'000);
  for (int i = 0; i < 10; ++i) rounds.pass(kBase, 16, millis(5));
  EXPECT_EQ(rounds.window(), 16'000u << 10);
}

TEST(SlowStart, GoesBackToDoublingWhenTheDelayFallsAgain) {
  Rounds rounds(16'000);
  const Nanos delayed = kBase + 2 * SlowStart::delay_threshold(kBase, kRate);
  for (int i = 0; i < 3; ++i) rounds.pass(delayed);
  rounds.pass(kBase);
  rounds.pass(kBase);
  const uint64_t before = rounds.window();
  rounds.pass(kBase);
  EXPECT_NEAR(double(rounds.window()), 2.0 * double(before), 16);
  EXPECT_TRUE(rounds.active());
}

TEST(SlowStart, CollectsSamplesOverRoundsWhereARoundHasFew) {
  Rounds rounds(160'000);
  const Nanos delayed = kBase + 2 * SlowStart::delay_threshold(kBase, kRate);
  for (int i = 0; i < 30 && rounds.active(); ++i) rounds.pass(delayed, 2);
  EXPECT_FALSE(rounds.active()) << "two acknowledgements a round are enough in the end";
}

TEST(SlowStart, EndsAtItsThresholdExactly) {
  Rounds rounds(16'000);
  rounds.slow_start().restart(100'000);
  for (int i = 0; i < 5; ++i) rounds.pass(kBase);
  EXPECT_EQ(rounds.window(), 100'000u);
  EXPECT_FALSE(rounds.active());
}

// What a queue must add before it counts: more where bursts take longer, RFC 9406's eighth of a
// long round trip.
TEST(SlowStart, TheThresholdFollowsBurstsAndRoundTrips) {
  // 64 KB take 51.2 us at 10 Gb/s; twice that and 25 us.
  EXPECT_EQ(SlowStart::delay_threshold(micros(20), gigabits_per_s(10)), nanos(127'400));
  EXPECT_EQ(SlowStart::delay_threshold(micros(20), gigabits_per_s(100)), nanos(35'240));
  EXPECT_EQ(SlowStart::delay_threshold(micros(20), megabits_per_s(1)), micros(1'025));
  EXPECT_EQ(SlowStart::delay_threshold(micros(20), {}), micros(1'025)) << "rate unknown";
  EXPECT_EQ(SlowStart::delay_threshold(millis(40), gigabits_per_s(10)), millis(5));
  EXPECT_EQ(SlowStart::delay_threshold(seconds(1), gigabits_per_s(10)), millis(16));
}

}  // namespace
}  // namespace heddle::transport
