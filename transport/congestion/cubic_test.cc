// CUBIC as a controller: RFC 9438's numbers seen from outside.
#include "transport/congestion/cubic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "transport/congestion/sample_feed.h"

namespace heddle::transport {
namespace {

using model::SampleFeed;

constexpr uint64_t kSegment = 1'500;
constexpr double kC = 0.4;

ControllerOptions options_of(uint64_t segments) {
  return {
      .segment = {kSegment}, .initial_window = {segments * kSegment}, .limit = {uint64_t{1} << 30}};
}

// A Cubic of 1,000 segments that has just lost one, on a link between two sites (round trip 100
// ms), where the cubic function and not Reno's growth decides.
struct LongHaul {
  Cubic cubic{options_of(1'000)};
  SampleFeed feed{.controller = cubic, .rtt = millis(100), .min_rtt = millis(100)};

  LongHaul() { feed.lose(); }

  // Acknowledges one window per round trip of 1 ms, during `span`.
  void run(Nanos span) {
    const Nanos end = feed.now + span;
    while (feed.now < end) {
      feed.now += millis(1);
      feed.ack(feed.window() / 100);
    }
  }
};

TEST(Cubic, ALossLeavesBetaOfTheWindow) {
  Cubic cubic(options_of(1'000));
  SampleFeed feed{.controller = cubic};
  feed.lose();
  EXPECT_EQ(feed.window(), 1'000 * kSegment * 7 / 10);
}

TEST(Cubic, GrowsAlongTheRfcsCurve) {
  LongHaul path;
  const double plateau = 1'000;
  const double k = std::cbrt(plateau * 0.3 / kC);
  // Section 4.4 and 4.5 in floating point: after each acknowledgement of part p of the window, the
  // window moves by p towards where the curve will be in a round trip.
  double window = 700;
  double t = 0;
  bool begun = false;
  for (int ms = 0; ms < 20'000; ++ms) {
    path.feed.now += millis(1);
    const uint64_t acked = path.feed.window() / 100;
    path.feed.ack(acked);
    if (ms < 100) continue;  // of what was sent before the loss was found
    t += begun ? 0.001 : 0;
    begun = true;
    const double ahead = kC * std::pow(t + 0.1 - k, 3) + plateau;
    const double target = std::clamp(ahead, window, 1.5 * window);
    window += (target - window) * (static_cast<double>(acked) / kSegment) / window;
    const double now = static_cast<double>(path.feed.window()) / kSegment;
    ASSERT_NEAR(now, window, 0.5) << "after " << ms << " ms";
    // And so the window is on the curve itself, two thousandths aside.
    if (ms > 1'000) {
      ASSERT_NEAR(now, kC * std::pow(t - k, 3) + plateau, 0.002 * now) << "after " << ms << " ms";
    }
  }
  EXPECT_GT(path.feed.window(), 1'300 * kSegment) << "beyond the plateau it probes for more";
}

TEST(Cubic, FastConvergenceLowersThePlateauOfAFlowThatDidNotReachIt) {
  LongHaul path;
  path.run(seconds(3));
  const double top = static_cast<double>(path.feed.window()) / kSegment;
  ASSERT_LT(top, 1'000);
  path.feed.lose();
  // W_max = top x (1 + beta) / 2, reached after K.
  const double plateau = top * 0.85;
  const double k = std::cbrt((plateau - top * 0.7) / kC);
  path.run(millis(100) + Nanos{static_cast<int64_t>(k * 1e9)});
  EXPECT_NEAR(static_cast<double>(path.feed.window()) / kSegment, plateau, 0.01 * plateau);
}

TEST(Cubic, AFlowThatPassedItsPlateauKeepsIt) {
  LongHaul path;
  path.run(seconds(15));
  const double top = static_cast<double>(path.feed.window()) / kSegment;
  ASSERT_GT(top, 1'010);
  path.feed.lose();
  const double k = std::cbrt(top * 0.3 / kC);
  path.run(millis(100) + Nanos{static_cast<int64_t>(k * 1e9)});
  EXPECT_NEAR(static_cast<double>(path.feed.window()) / kSegment, top, 0.01 * top);
}

// In a data centre the cubic function is slower than Reno: alpha = 9/17 segments a round trip until
// the window before the reduction is reached, then 1 (RFC 9438 section 4.3).
TEST(Cubic, GrowsAsRenoDoesWhereRoundTripsAreShort) {
  Cubic cubic(options_of(100));
  SampleFeed feed{.controller = cubic};
  feed.lose();
  ASSERT_EQ(feed.window(), 70 * kSegment);
  feed.round_trip();  // ends what was sent before
  const double before = static_cast<double>(feed.window());
  feed.round_trips(34);
  EXPECT_NEAR((static_cast<double>(feed.window()) - before) / kSegment, 34 * 9.0 / 17.0, 0.5);
  while (feed.window() < 101 * kSegment) feed.round_trip();
  const double later = static_cast<double>(feed.window());
  feed.round_trips(20);
  EXPECT_NEAR((static_cast<double>(feed.window()) - later) / kSegment, 20, 0.5);
}

TEST(Cubic, CountsFractionsOfManySmallAcknowledgements) {
  Cubic few(options_of(100));
  Cubic many(options_of(100));
  SampleFeed feed_few{.controller = few};
  SampleFeed feed_many{.controller = many};
  feed_few.lose();
  feed_many.lose();
  for (int i = 0; i < 50; ++i) {
    feed_few.round_trip(2);
    feed_many.round_trip(100);
  }
  EXPECT_NEAR(static_cast<double>(feed_few.window()), static_cast<double>(feed_many.window()),
              static_cast<double>(kSegment));
}

// Without a loss there is no plateau to return to: the curve starts convex from where slow start
// ended.
TEST(Cubic, AfterADelayBasedExitItProbesFromWhereItIs) {
  Cubic cubic(options_of(500));
  SampleFeed feed{.controller = cubic, .rtt = millis(130), .min_rtt = millis(100)};
  for (uint64_t last = 0; last < feed.window(); feed.round_trip(100)) {
    last = feed.window() + feed.window() / 50;
  }
  const double began = static_cast<double>(feed.window()) / kSegment;
  const Nanos start = feed.now;
  while (feed.now < start + seconds(6)) feed.round_trip(100);
  const double t = to_seconds(feed.now - start);
  EXPECT_NEAR(static_cast<double>(feed.window()) / kSegment - began, kC * t * t * t, 12);
}

TEST(Cubic, ACutThatBecomesWholeIsOneCutFromTheTop) {
  LongHaul alone;
  alone.run(seconds(15));
  const double top = static_cast<double>(alone.feed.window()) / kSegment;
  LossSample loss = alone.feed.loss_sample(kSegment);
  loss.active_paths = 8;
  loss.others_clean = true;
  alone.feed.now += millis(100);
  alone.cubic.on_loss(alone.feed.now, loss);
  loss.others_clean = false;
  alone.cubic.on_loss(alone.feed.now, loss);
  EXPECT_NEAR(static_cast<double>(alone.feed.window()) / kSegment, top * 0.7, 1);
  // The plateau is the top, not what the first cut had left of it.
  const double k = std::cbrt(top * 0.3 / kC);
  alone.run(millis(100) + Nanos{static_cast<int64_t>(k * 1e9)});
  EXPECT_NEAR(static_cast<double>(alone.feed.window()) / kSegment, top, 0.01 * top);
}

TEST(Cubic, TimeInWhichTheSenderWasIdleDoesNotCount) {
  LongHaul busy;
  LongHaul idle;
  busy.run(seconds(2));
  idle.run(seconds(1));
  const uint64_t before = idle.feed.window();
  for (int i = 0; i < 3'000; ++i) {
    idle.feed.now += millis(1);
    AckSample sample = idle.feed.ack_sample(kSegment);
    sample.window_limited = false;
    idle.cubic.on_ack(idle.feed.now, sample);
  }
  EXPECT_EQ(idle.feed.window(), before) << "an application that sends little proves nothing";
  idle.feed.now += seconds(60);  // and one that sends nothing neither
  idle.run(seconds(1));
  EXPECT_NEAR(static_cast<double>(idle.feed.window()), static_cast<double>(busy.feed.window()),
              0.02 * static_cast<double>(busy.feed.window()));
}

TEST(Cubic, AMarkCostsLessThanALoss) {
  Cubic cubic(options_of(1'000));
  SampleFeed feed{.controller = cubic};
  AckSample sample = feed.ack_sample(kSegment);
  sample.marked = {kSegment};
  cubic.on_ack(feed.now, sample);
  EXPECT_EQ(feed.window(), 1'000 * kSegment * 85 / 100);
  cubic.on_spurious_loss(feed.now);
  EXPECT_EQ(feed.window(), 1'000 * kSegment * 85 / 100) << "a mark cannot have been spurious";
}

TEST(Cubic, AnUndoneLossLeavesNoTrace) {
  LongHaul touched;
  LongHaul untouched;
  touched.run(seconds(2));
  untouched.run(seconds(2));
  const uint64_t before = touched.feed.window();
  touched.cubic.on_loss(touched.feed.now, touched.feed.loss_sample(kSegment));
  EXPECT_LT(touched.feed.window(), before);
  touched.cubic.on_spurious_loss(touched.feed.now);
  EXPECT_EQ(touched.feed.window(), before);
  touched.run(seconds(4));
  untouched.run(seconds(4));
  EXPECT_NEAR(static_cast<double>(touched.feed.window()),
              static_cast<double>(untouched.feed.window()),
              0.01 * static_cast<double>(untouched.feed.window()));
}

TEST(Cubic, AfterPersistentTimeoutsItStartsOverUpToBeta) {
  Cubic cubic(options_of(1'000));
  SampleFeed feed{.controller = cubic};
  LossSample loss = feed.loss_sample(kSegment);
  loss.timeout = true;
  feed.now += millis(10);
  cubic.on_loss(feed.now, loss);
  EXPECT_EQ(feed.window(), 700 * kSegment);
  loss.sent_at = feed.now + nanos(1);
  feed.now += millis(20);
  cubic.on_loss(feed.now, loss);
  EXPECT_EQ(feed.window(), 2 * kSegment);
  feed.now += millis(1);
  feed.round_trips(7);
  EXPECT_EQ(feed.window(), 2 * kSegment << 7) << "slow start";
  feed.round_trip();
  EXPECT_EQ(feed.window(), 490 * kSegment) << "0.7 x 700 segments is where it ends";
  feed.round_trip();
  EXPECT_LT(feed.window(), 492 * kSegment);
}

TEST(Cubic, LeavesSlowStartWhenTheDelayStands) {
  Cubic cubic(options_of(20));
  SampleFeed feed{.controller = cubic};
  feed.round_trips(3);
  ASSERT_EQ(feed.window(), 160 * kSegment);
  feed.rtt = millis(3);
  feed.round_trips(12);
  const uint64_t left_at = feed.window();
  EXPECT_LT(left_at, 160 * kSegment * 16);
  feed.round_trip();
  EXPECT_LE(feed.window(), left_at + kSegment);
}

}  // namespace
}  // namespace heddle::transport
