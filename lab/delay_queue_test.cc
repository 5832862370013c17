// Delay queues on virtual time: order, times, limits and counters.
#include "lab/delay_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "base/random.h"

namespace heddle::lab {
namespace {

constexpr Nanos kDelay = micros(500);

DelayQueueOptions usual() {
  return {.delay = kDelay, .capacity = {1'000}, .largest_frame = 300, .late_after = micros(50)};
}

std::vector<uint8_t> frame(size_t bytes, uint8_t mark) { return std::vector<uint8_t>(bytes, mark); }

// Removes the due frames and returns the first byte of each.
std::vector<int> taken(DelayQueue& queue, Nanos now) {
  std::array<std::span<const uint8_t>, 4> frames;
  std::vector<int> marks;
  while (const size_t count = queue.due(now, frames)) {
    for (size_t i = 0; i < count; ++i) marks.push_back(frames[i].front());
    queue.pop(count, now);
  }
  return marks;
}

TEST(DelayQueueTest, FramesLeaveAtTheirDueTimeAndNotBefore) {
  DelayQueue queue(usual());
  EXPECT_FALSE(queue.next_due());
  ASSERT_TRUE(queue.push(frame(100, 1), micros(10)));
  ASSERT_TRUE(queue.push(frame(100, 2), micros(20)));
  EXPECT_EQ(queue.next_due(), micros(510));
  EXPECT_EQ(taken(queue, micros(510) - nanos(1)), std::vector<int>{});
  EXPECT_EQ(taken(queue, micros(510)), std::vector<int>{1});
  EXPECT_EQ(taken(queue, micros(520)), std::vector<int>{2});
  EXPECT_TRUE(queue.empty());
}

TEST(DelayQueueTest, OrderIsKeptWhenTheArrivalClockStepsBack) {
  DelayQueue queue(usual());
  ASSERT_TRUE(queue.push(frame(100, 1), micros(100)));
  ASSERT_TRUE(queue.push(frame(100, 2), micros(40)));
  EXPECT_EQ(taken(queue, micros(590)), std::vector<int>{});
  EXPECT_EQ(taken(queue, micros(600)), (std::vector<int>{1, 2}));
}

TEST(DelayQueueTest, FramesBeyondTheCapacityAreDroppedAndCounted) {
  DelayQueue queue(usual());
  for (int i = 0; i < 5; ++i) queue.push(frame(300, static_cast<uint8_t>(i)), micros(i));
  EXPECT_EQ(queue.held().count, 900u);
  EXPECT_EQ(queue.counts().dropped, 2u);
  EXPECT_TRUE(queue.push(frame(100, 9), micros(9))) << "a smaller one still fits";
  EXPECT_EQ(taken(queue, millis(1)), (std::vector<int>{0, 1, 2, 9}));
  EXPECT_FALSE(queue.push(frame(301, 1), millis(1))) << "longer than the link's frames";
  EXPECT_EQ(queue.counts().dropped, 3u);
  EXPECT_EQ(queue.counts().packets, 4u);
  EXPECT_EQ(queue.counts().bytes, 1'000u);
}

TEST(DelayQueueTest, LateFramesAreCounted) {
  DelayQueue queue(usual());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.push(frame(10, 1), {}));
  queue.pop(1, kDelay);
  queue.pop(1, kDelay + micros(50));
  EXPECT_EQ(queue.counts().late, 0u);
  queue.pop(1, kDelay + micros(51));
  EXPECT_EQ(queue.counts().late, 1u);
  EXPECT_EQ(queue.counts().latest, micros(51));
}

// Frames of any length, in bursts, up to the capacity: every accepted frame comes out unchanged, in
// order, and not before its due time.
TEST(DelayQueueTest, FramesAreUnchangedAcrossTheEndOfTheRing) {
  DelayQueue queue(usual());
  Random random(7);
  std::deque<std::pair<std::vector<uint8_t>, Nanos>> expected;
  Nanos now;
  uint64_t left = 0;
  for (int step = 0; step < 50'000; ++step) {
    now += nanos(static_cast<int64_t>(random.below(120'000)));
    const auto bytes = frame(1 + random.below(300), static_cast<uint8_t>(step));
    if (queue.push(bytes, now)) expected.emplace_back(bytes, now + kDelay);
    std::array<std::span<const uint8_t>, 4> frames;
    const size_t count = queue.due(now, frames);
    for (size_t i = 0; i < count; ++i, ++left) {
      ASSERT_TRUE(std::equal(frames[i].begin(), frames[i].end(), expected[i].first.begin(),
                             expected[i].first.end()));
      ASSERT_LE(expected[i].second, now);
    }
    queue.pop(count, now);
    expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(count));
  }
  EXPECT_GT(left, 10'000u);
  EXPECT_GT(queue.counts().dropped, 100u) << "the bound was met";
}

}  // namespace
}  // namespace heddle::lab
