// Properties of every controller in the registry.
#include "transport/congestion/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "transport/congestion/sample_feed.h"

namespace heddle::transport {
namespace {

using model::SampleFeed;

constexpr uint64_t kSegment = 1'500;
constexpr uint64_t kInitial = 40 * kSegment;
constexpr uint64_t kLimit = 1'000 * kSegment;

TEST(Registry, KnowsItsNamesAndNoOthers) {
  const auto names = controller_names();
  EXPECT_EQ(std::vector<std::string_view>(names.begin(), names.end()),
            (std::vector<std::string_view>{"cubic", "swift", "dctcp", "credits"}));
  const ControllerOptions options{
      .segment = {kSegment}, .initial_window = {kInitial}, .limit = {kLimit}};
  for (const std::string_view name : names) EXPECT_NE(make_controller(name, options), nullptr);
  for (const std::string_view name : {"", "Cubic", "cubic ", "reno", "cubi"}) {
    EXPECT_EQ(make_controller(name, options), nullptr) << name;
  }
}

class EveryController : public testing::TestWithParam<std::string_view> {
 protected:
  std::unique_ptr<Controller> make(uint64_t initial = kInitial, uint64_t limit = kLimit) const {
    return make_controller(GetParam(),
                           {.segment = {kSegment}, .initial_window = {initial}, .limit = {limit}});
  }

  std::unique_ptr<Controller> controller_ = make();
  SampleFeed feed_{.controller = *controller_};
};

INSTANTIATE_TEST_SUITE_P(Table, EveryController,
                         testing::ValuesIn(controller_names().begin(), controller_names().end()),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(EveryController, BeginsAtTheInitialWindowWithinBounds) {
  EXPECT_EQ(controller_->window().count, kInitial);
  EXPECT_EQ(make(1)->window().count, 2 * kSegment);
  EXPECT_EQ(make(2 * kLimit)->window().count, kLimit);
  EXPECT_EQ(make(kInitial, 100)->window().count, 2 * kSegment) << "two segments win over the limit";
}

TEST_P(EveryController, GrowsOnCleanAcknowledgementsUpToTheLimitAndNotBeyond) {
  uint64_t last = feed_.window();
  for (int i = 0; i < 3'000 && last < kLimit; ++i) {
    feed_.round_trip();
    ASSERT_GE(feed_.window(), last);
    last = feed_.window();
  }
  EXPECT_EQ(last, kLimit);
  feed_.round_trips(10);
  EXPECT_EQ(feed_.window(), kLimit);
}

TEST_P(EveryController, GrowsAfterALossToo) {
  feed_.lose();
  feed_.round_trip();
  const uint64_t before = feed_.window();
  feed_.round_trips(20);
  EXPECT_GE(feed_.window(), before + 5 * kSegment);
  EXPECT_LE(feed_.window(), before + 25 * kSegment) << "slow start is over";
}

TEST_P(EveryController, ShrinksOnRepeatedLossDownToTwoSegments) {
  uint64_t last = feed_.window();
  for (int i = 0; i < 30; ++i) {
    feed_.lose();
    ASSERT_TRUE(feed_.window() < last || last == 2 * kSegment);
    last = feed_.window();
  }
  EXPECT_EQ(last, 2 * kSegment);
}

TEST_P(EveryController, ReactsOnceARoundTrip) {
  feed_.round_trips(3);
  const Nanos sent_at = feed_.now;
  feed_.now += feed_.rtt;
  LossSample loss = feed_.loss_sample(kSegment);
  loss.sent_at = sent_at;
  controller_->on_loss(feed_.now, loss);
  const uint64_t cut = feed_.window();
  for (int i = 0; i < 20; ++i) {
    feed_.now += micros(4);
    loss.sent_at += micros(4);
    controller_->on_loss(feed_.now, loss);
    AckSample marked = feed_.ack_sample(kSegment);
    marked.marked = marked.acked;
    marked.sent_at = loss.sent_at;
    marked.rtt = 5 * feed_.rtt;
    controller_->on_ack(feed_.now, marked);
    ASSERT_GE(feed_.window(), cut);
    ASSERT_LE(feed_.window(), cut + kSegment);
  }
}

TEST_P(EveryController, DoesNotGrowWhereTheApplicationLimits) {
  for (int phase = 0; phase < 2; ++phase) {
    const uint64_t before = feed_.window();
    for (int i = 0; i < 200; ++i) {
      feed_.now += feed_.rtt;
      AckSample sample = feed_.ack_sample(feed_.window() / 4);
      sample.window_limited = false;
      controller_->on_ack(feed_.now, sample);
    }
    EXPECT_EQ(feed_.window(), before);
    feed_.lose();
    feed_.round_trip();
  }
}

TEST_P(EveryController, APathsFailureIsNoCongestion) {
  feed_.round_trips(2);
  const uint64_t before = feed_.window();
  for (const bool timeout : {false, true, true, true}) {
    LossSample loss = feed_.loss_sample(20 * kSegment);
    loss.path_failure = true;
    loss.timeout = timeout;
    feed_.now += feed_.rtt;
    controller_->on_loss(feed_.now, loss);
    EXPECT_EQ(feed_.window(), before);
  }
}

TEST_P(EveryController, ALonePathsLossCostsItsShareOnly) {
  const auto whole = make();
  SampleFeed other{.controller = *whole};
  other.lose();
  const uint64_t full_cut = kInitial - other.window();

  LossSample loss = feed_.loss_sample(kSegment);
  loss.active_paths = 8;
  loss.others_clean = true;
  feed_.now += feed_.rtt;
  controller_->on_loss(feed_.now, loss);
  EXPECT_NEAR(double(kInitial - feed_.window()), double(full_cut) / 8, 2);

  // Before the round trip is over others lose as well: then it is the network, and the cut is
  // whole.
  loss.others_clean = false;
  controller_->on_loss(feed_.now + micros(1), loss);
  EXPECT_EQ(feed_.window(), other.window());
}

TEST_P(EveryController, ALonePathsLossDoesNotEndSlowStart) {
  LossSample loss = feed_.loss_sample(kSegment);
  loss.active_paths = 8;
  loss.others_clean = true;
  controller_->on_loss(feed_.now, loss);
  feed_.round_trip();
  const uint64_t before = feed_.window();
  feed_.round_trip();
  EXPECT_EQ(feed_.window(), 2 * before);
}

TEST_P(EveryController, ASpuriousLossIsTakenBackOnce) {
  feed_.round_trips(2);
  const uint64_t before = feed_.window();
  feed_.lose();
  ASSERT_LT(feed_.window(), before);
  controller_->on_spurious_loss(feed_.now);
  EXPECT_EQ(feed_.window(), before);
  feed_.lose();
  const uint64_t cut = feed_.window();
  controller_->on_spurious_loss(feed_.now);
  EXPECT_EQ(feed_.window(), before);
  controller_->on_spurious_loss(feed_.now);
  EXPECT_EQ(feed_.window(), before);
  EXPECT_LT(cut, before);
}

TEST_P(EveryController, ASpuriousLossThatWasNeverFoundChangesNothing) {
  controller_->on_spurious_loss(feed_.now);
  EXPECT_EQ(feed_.window(), kInitial);
  feed_.round_trips(2);
  const uint64_t grown = feed_.window();
  controller_->on_spurious_loss(feed_.now);
  EXPECT_EQ(feed_.window(), grown);
}

TEST_P(EveryController, OneTimeoutIsALossTwoInARowGoToTheFloor) {
  LossSample loss = feed_.loss_sample(kSegment);
  loss.timeout = true;
  feed_.now += millis(10);
  controller_->on_loss(feed_.now, loss);
  EXPECT_LT(feed_.window(), kInitial);
  EXPECT_GE(feed_.window(), kInitial / 2);
  loss.sent_at = feed_.now + micros(1);
  feed_.now += millis(20);
  controller_->on_loss(feed_.now, loss);
  EXPECT_EQ(feed_.window(), 2 * kSegment);
  // And it comes back from there faster than one segment a round trip.
  feed_.round_trips(3);
  EXPECT_GE(feed_.window(), 8 * kSegment);
}

TEST_P(EveryController, PacesSomewhatAboveTheWindowARoundTrip) {
  EXPECT_EQ(controller_->pacing_rate().count, 0u) << "no round trip is known";
  feed_.round_trip();
  const auto ratio = [this] {
    return double(controller_->pacing_rate().count) /
           double(rate_of(controller_->window(), feed_.rtt).count);
  };
  EXPECT_NEAR(ratio(), 2.0, 0.001) << "slow start doubles";
  feed_.lose();
  feed_.round_trip();
  EXPECT_NEAR(ratio(), 1.25, 0.001);
}

// Random samples in any order: the window stays within its bounds, the pacing rate is valid, and
// the same samples give the same windows.
TEST_P(EveryController, StaysWithinItsBoundsForAnySamples) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    std::vector<uint64_t> traces[2];
    for (std::vector<uint64_t>& trace : traces) {
      Random random(seed);
      const auto controller = make();
      Nanos now{static_cast<int64_t>(random.below(1'000'000'000))};
      for (int step = 0; step < 2'000; ++step) {
        now +=
            nanos(static_cast<int64_t>(random.below(random.below(30) == 0 ? 1u << 30 : 200'000)));
        const Nanos rtt{static_cast<int64_t>(random.below(uint64_t{1} << random.below(32)))};
        const Nanos sent_at{std::max<int64_t>(now.count - rtt.count, 0)};
        const Bytes bytes{random.below(uint64_t{1} << random.below(24))};
        const auto paths = static_cast<uint32_t>(random.between(1, 256));
        const uint64_t kind = random.below(20);
        if (kind == 0) {
          controller->on_spurious_loss(now);
        } else if (kind <= 3) {
          controller->on_loss(now, {.sent_at = sent_at,
                                    .lost = bytes,
                                    .in_flight = {random.below(kLimit)},
                                    .smoothed_rtt = rtt,
                                    .active_paths = paths,
                                    .others_clean = random.below(2) == 0,
                                    .timeout = random.below(4) == 0,
                                    .path_failure = random.below(8) == 0});
        } else {
          controller->on_ack(now,
                             {.sent_at = sent_at,
                              .acked = bytes,
                              .marked = {random.below(4) == 0 ? random.below(bytes.count + 1) : 0},
                              .rtt = rtt,
                              .min_rtt = {static_cast<int64_t>(
                                  random.below(static_cast<uint64_t>(rtt.count) + 1))},
                              .smoothed_rtt = rtt,
                              .in_flight = {random.below(kLimit)},
                              .active_paths = paths,
                              .others_clean = random.below(2) == 0,
                              .window_limited = random.below(3) != 0});
        }
        const uint64_t window = controller->window().count;
        ASSERT_GE(window, 2 * kSegment) << "seed " << seed << " step " << step;
        ASSERT_LE(window, kLimit) << "seed " << seed << " step " << step;
        ASSERT_GE(controller->burst_limit().count, kSegment);
        trace.push_back(window);
        trace.push_back(controller->pacing_rate().count);
      }
    }
    ASSERT_EQ(traces[0], traces[1]) << "seed " << seed;
  }
}

}  // namespace
}  // namespace heddle::transport
