// When bytes arrived, and the longest time without any.
#include "measure/arrival_timeline.h"

#include <gtest/gtest.h>

#include <numeric>

namespace heddle::measure {
namespace {

TEST(ArrivalTimeline, BytesCountInTheIntervalOfTheirArrival) {
  ArrivalTimeline timeline;
  const Nanos start = seconds(77);
  timeline.add(start, 1);
  timeline.add(start + millis(19), 2);
  timeline.add(start + millis(20), 4);
  timeline.add(start + millis(99), 8);
  EXPECT_EQ(timeline.bytes(), (std::vector<uint64_t>{3, 4, 0, 0, 8}));
}

TEST(ArrivalTimeline, TheLongestGapIsFoundAndWhenItBegan) {
  ArrivalTimeline timeline;
  EXPECT_EQ(timeline.longest_gap(), Nanos{});
  const Nanos start = seconds(1);
  for (const int64_t at : {0, 10, 12, 45, 60}) timeline.add(start + millis(at), 1);
  EXPECT_EQ(timeline.longest_gap(), millis(33));
  EXPECT_EQ(timeline.longest_gap_after(), millis(12));
}

TEST(ArrivalTimeline, ALongTransferTakesLongerIntervalsAndNoMoreOfThem) {
  ArrivalTimeline timeline;
  for (int64_t at = 0; at < 100'000; ++at) timeline.add(seconds(1) + millis(at), 1);
  EXPECT_LE(timeline.bytes().size(), ArrivalTimeline::kMostIntervals);
  EXPECT_EQ(timeline.interval(), millis(160));
  EXPECT_EQ(std::accumulate(timeline.bytes().begin(), timeline.bytes().end(), uint64_t{0}),
            100'000u);
  EXPECT_EQ(timeline.bytes()[1], 160u);
}

}  // namespace
}  // namespace heddle::measure
