// DCTCP as a controller: RFC 8257's numbers seen from outside.
#include "transport/congestion/dctcp.h"

#include <gtest/gtest.h>

#include "transport/congestion/sample_feed.h"

namespace heddle::transport {
namespace {

using model::SampleFeed;

constexpr uint64_t kSegment = 1'500;

ControllerOptions options_of(uint64_t segments) {
  return {
      .segment = {kSegment}, .initial_window = {segments * kSegment}, .limit = {uint64_t{1} << 30}};
}

double alpha_of(const Dctcp& dctcp) { return double(dctcp.alpha()) / Dctcp::kAlphaOne; }

// A Dctcp out of slow start at a window of `segments`, with alpha at zero.
struct Settled {
  Dctcp dctcp;
  SampleFeed feed{.controller = dctcp};

  explicit Settled(uint64_t segments) : dctcp(options_of(2 * segments)) {
    feed.lose();
    feed.round_trip();
    while (alpha_of(dctcp) > 0.0005) feed.round_trip();
    const uint64_t wanted = segments * kSegment;
    while (feed.window() > wanted + kSegment) {
      feed.lose();
      feed.round_trip();
    }
  }
};

TEST(Dctcp, TheFirstMarkHalves) {
  Dctcp dctcp(options_of(100));
  SampleFeed feed{.controller = dctcp};
  AckSample sample = feed.ack_sample(kSegment);
  sample.marked = {kSegment};
  dctcp.on_ack(feed.now, sample);
  EXPECT_EQ(feed.window(), 50 * kSegment) << "alpha begins at 1";
}

// Section 3.3: alpha = alpha x (1 - g) + g x M after each window of data, g = 1/16.
TEST(Dctcp, AlphaFollowsTheMarkedFraction) {
  Dctcp dctcp(options_of(100));
  SampleFeed feed{.controller = dctcp};
  double alpha = 1;
  // The first acknowledgement ends the window of data that began before there was any.
  feed.round_trip(10, 250);
  for (int i = 0; i < 100; ++i) {
    feed.round_trip(10, 250);
    alpha += (0.25 - alpha) / 16;
  }
  EXPECT_NEAR(alpha_of(dctcp), 0.25, 0.002);
  feed.round_trip(10);  // its first acknowledgement ends the last marked window of data
  for (int i = 0; i < 20; ++i) {
    const double before = alpha_of(dctcp);
    feed.round_trip(10);
    EXPECT_NEAR(alpha_of(dctcp), before * 15 / 16, 0.0005);
  }
}

TEST(Dctcp, AlphaWeighsBytesNotAcknowledgements) {
  Dctcp dctcp(options_of(100));
  SampleFeed feed{.controller = dctcp};
  for (int round = 0; round < 200; ++round) {
    // Nine small acknowledgements without marks, one with all the rest and marked.
    feed.now += feed.rtt;
    for (int i = 0; i < 9; ++i) feed.ack(kSegment);
    AckSample sample = feed.ack_sample(91 * kSegment);
    sample.marked = sample.acked;
    dctcp.on_ack(feed.now, sample);
  }
  EXPECT_NEAR(alpha_of(dctcp), 0.91, 0.03);
}

TEST(Dctcp, AMarkCutsByHalfOfAlphaOnceARoundTrip) {
  Settled settled(400);
  // Marks of a twentieth: alpha rises by a sixteenth of that each round.
  for (int i = 0; i < 200; ++i) {
    const double window = double(settled.feed.window());
    settled.feed.round_trip(20, 50);
    const double alpha = alpha_of(settled.dctcp);
    const double cut = 1 - double(settled.feed.window()) / window;
    ASSERT_NEAR(cut, alpha / 2, 0.002) << "round " << i;
  }
  EXPECT_NEAR(alpha_of(settled.dctcp), 0.05, 0.002);
}

TEST(Dctcp, LightCongestionCostsLittle) {
  Settled settled(400);
  const uint64_t before = settled.feed.window();
  settled.feed.round_trip(100, 10);
  EXPECT_GT(settled.feed.window(), before * 99 / 100);
  EXPECT_LT(settled.feed.window(), before);
}

TEST(Dctcp, WithoutMarksItIsReno) {
  Settled settled(100);
  const double before = double(settled.feed.window());
  settled.feed.round_trips(50);
  EXPECT_NEAR((double(settled.feed.window()) - before) / kSegment, 50, 0.5);
  const uint64_t top = settled.feed.window();
  settled.feed.lose();
  EXPECT_EQ(settled.feed.window(), top / 2);
}

TEST(Dctcp, ALonePathsMarksWeighByTheirBytesOnly) {
  Settled alone(400);
  Settled among(400);
  ASSERT_EQ(alone.feed.window(), among.feed.window());
  const auto mark = [](Settled& settled, bool others_clean) {
    settled.feed.now += settled.feed.rtt;
    AckSample sample = settled.feed.ack_sample(10 * kSegment);
    sample.marked = sample.acked;
    sample.active_paths = 8;
    sample.others_clean = others_clean;
    settled.dctcp.on_ack(settled.feed.now, sample);
  };
  mark(alone, true);
  mark(among, false);
  EXPECT_EQ(alone.feed.window(), among.feed.window());
}

TEST(Dctcp, ASpuriousLossIsTakenBackAMarkIsNot) {
  Settled settled(100);
  const uint64_t before = settled.feed.window();
  settled.feed.lose();
  ASSERT_LT(settled.feed.window(), before);
  settled.dctcp.on_spurious_loss(settled.feed.now);
  EXPECT_EQ(settled.feed.window(), before);

  settled.feed.round_trip(10, 1'000);
  const uint64_t marked = settled.feed.window();
  settled.dctcp.on_spurious_loss(settled.feed.now);
  EXPECT_EQ(settled.feed.window(), marked);
}

TEST(Dctcp, AsksForBurstsOfASixteenthOfTheWindow) {
  Dctcp large(options_of(1'600));
  EXPECT_EQ(large.burst_limit().count, 100 * kSegment);
  Dctcp small(options_of(4));
  EXPECT_EQ(small.burst_limit().count, kSegment);
}

}  // namespace
}  // namespace heddle::transport
