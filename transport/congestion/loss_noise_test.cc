// Losses that a sender causes and losses that it does not.
#include "transport/congestion/loss_noise.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace heddle::transport {
namespace {

constexpr Bytes kSegment = {1'500};
constexpr Nanos kMinRtt = micros(100);

// A sender on a link with room for `room` segments above which it drops, and that loses some of the
// others at random. It cuts its window by three tenths at each sign of congestion, and otherwise
// adds a segment a round trip.
struct Sender {
  uint64_t room = 1'000;
  uint32_t noise_per_million = 0;
  Nanos rtt = kMinRtt;
  LossNoise noise;
  Random random{3};
  Nanos now = seconds(1);
  uint64_t window = 20;
  uint64_t before = 0;  // the latest reduction
  uint64_t reductions = 0;
  uint64_t ignored = 0;

  void round() {
    const uint64_t sent = window;
    bool reduced = false;
    for (uint64_t i = 0; i < sent; ++i) {
      const Nanos sent_at = now + kMinRtt * static_cast<int64_t>(i) / static_cast<int64_t>(sent);
      const bool dropped = i >= room;
      if (!dropped && !random.chance_per_million(noise_per_million)) {
        noise.on_ack(sent_at, kSegment, rtt);
      } else if (noise.is_noise(sent_at, kSegment, rtt, kMinRtt)) {
        ++ignored;
        if (noise.take_needless(sent_at)) window = std::max(window, before);
      } else if (!reduced) {
        reduced = true;
        ++reductions;
        before = window;
        window = std::max<uint64_t>(window * 7 / 10, 2);
        noise.on_reduced(now + kMinRtt, kMinRtt, window);
      }
    }
    if (!reduced) ++window;
    now += kMinRtt + nanos(1);
  }
};

TEST(LossNoise, LossesOfAFullQueueAreCongestion) {
  Sender sender;
  for (int i = 0; i < 20'000; ++i) sender.round();
  EXPECT_EQ(sender.ignored, 0u);
  EXPECT_GT(sender.reductions, 40u);
  EXPECT_LE(sender.window, sender.room + 1);
}

TEST(LossNoise, RandomLossesSoonNoLongerReduce) {
  for (const uint32_t per_million : {1'000u, 10'000u, 50'000u}) {
    Sender sender{.room = UINT64_MAX, .noise_per_million = per_million};
    for (int i = 0; i < 3'000; ++i) sender.round();
    EXPECT_GT(sender.window, 1'000u) << per_million;
    EXPECT_NEAR(sender.noise.rate(), per_million, per_million * 0.7);
  }
}

// 125 MB in flight at 0.01%: what was remembered, 8 MiB, held no loss of it, each reduced the
// window, and CUBIC takes 22 s to come back from one.
TEST(LossNoise, OneLossInTenThousandOfAWindowOf14000SegmentsLeavesItOpen) {
  Sender sender{.noise_per_million = 100, .window = 14'000};
  sender.room = UINT64_MAX;
  for (int i = 0; i < 200; ++i) sender.round();
  EXPECT_GE(sender.window, 9'800u) << "one reduction is not taken back yet";
  EXPECT_GE(sender.ignored, 100u);
  EXPECT_LE(sender.reductions, sender.ignored / 4);
}

// On a lossy cable the queue's own losses still count.
TEST(LossNoise, AFullQueueBehindALossyCableStillReduces) {
  Sender sender{.room = 500, .noise_per_million = 10'000};
  for (int i = 0; i < 10'000; ++i) sender.round();
  EXPECT_GT(sender.reductions, 10u);
  EXPECT_LE(sender.window, sender.room * 11 / 10);
}

TEST(LossNoise, ALossAtAHighDelayIsCongestionWhateverTheRate) {
  Sender sender{.room = UINT64_MAX, .noise_per_million = 50'000};
  for (int i = 0; i < 1'000; ++i) sender.round();
  sender.noise.on_ack(sender.now, kSegment, millis(5));
  EXPECT_FALSE(sender.noise.is_noise(sender.now, kSegment, millis(4), kMinRtt));
  EXPECT_TRUE(sender.noise.is_noise(sender.now, kSegment, micros(300), kMinRtt));
}

// Regression: two flows took the losses of the full queue that they shared for noise, as long as it
// was below 1 ms: one of them kept a hundredth of the link.
TEST(LossNoise, AQueueOfMicrosecondsIsFeltWhereRoundTripsAreShort) {
  Sender sender{.room = UINT64_MAX, .noise_per_million = 50'000};
  for (int i = 0; i < 1'000; ++i) sender.round();
  sender.noise.on_ack(sender.now, kSegment, kMinRtt + micros(84));
  EXPECT_FALSE(sender.noise.is_noise(sender.now, kSegment, kMinRtt + micros(80), kMinRtt));
  EXPECT_TRUE(sender.noise.is_noise(sender.now, kSegment, kMinRtt + micros(40), kMinRtt));
  EXPECT_TRUE(sender.noise.is_noise(sender.now, kSegment, kMinRtt + micros(20), kMinRtt))
      << "what hosts add";
}

TEST(LossNoise, ACableThatIsChangedIsForgotten) {
  Sender sender{.room = UINT64_MAX, .noise_per_million = 50'000};
  for (int i = 0; i < 1'000; ++i) sender.round();
  EXPECT_GT(sender.noise.rate(), 0u);
  sender.noise_per_million = 0;
  sender.room = sender.window;
  for (int i = 0; i < 20'000; ++i) sender.round();
  EXPECT_LT(sender.noise.rate(), 10'000u);
}

}  // namespace
}  // namespace heddle::transport
