// What a rank did in an interval, and since the watch began.
#include "monitor/rank_series.h"

#include <gtest/gtest.h>

namespace heddle::monitor {
namespace {

using events::Direction;

constexpr int64_t kMs = 1'000'000;

events::CallMade made(uint32_t call) { return {.communicator = 7, .call = call}; }
events::CallEnded ended(uint32_t call, bool ok = true) {
  return {.communicator = 7, .call = call, .ok = ok};
}

TEST(SpanCounts, PercentilesAreAtMostAQuarterTooHigh) {
  for (const int64_t span : {3 * kMs / 1000, kMs, 17 * kMs, 900 * kMs}) {
    SpanCounts counts;
    for (int i = 0; i < 98; ++i) counts.add(span);
    counts.add(1'000'000 * kMs);
    counts.add(1'000'000 * kMs);
    const Spread spread = counts.spread();
    EXPECT_GE(spread.p50_ns, span);
    EXPECT_LE(static_cast<double>(spread.p50_ns), 1.25 * static_cast<double>(span));
    EXPECT_EQ(spread.most_ns, 1'000'000 * kMs);
    EXPECT_GT(spread.p99_ns, span * 100);
  }
}

TEST(SpanCounts, AnySpanIsCounted) {
  SpanCounts counts;
  for (const int64_t span : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX}) counts.add(span);
  EXPECT_GE(counts.spread().most_ns, int64_t{1} << 50);
  EXPECT_EQ(SpanCounts().spread().p50_ns, -1);
}

TEST(RankSeries, CallsHaveTimesAndResults) {
  RankSeries series;
  series.add_process();
  series.add(0, made(1), 10 * kMs);
  series.add(0, made(2), 11 * kMs);
  series.add(0, ended(2), 13 * kMs);
  series.add(0, ended(1, false), 20 * kMs);
  series.add(0, ended(9), 21 * kMs);  // it began before the watch
  const RankInterval first = series.cut(100 * kMs).processes[0];
  EXPECT_EQ(first.figures.calls, 3U);
  EXPECT_EQ(first.figures.calls_failed, 1U);
  EXPECT_EQ(first.calls.most_ns, 10 * kMs);
  const SeriesInterval second = series.cut(200 * kMs);
  EXPECT_EQ(second.from_ns, 100 * kMs);
  EXPECT_EQ(second.until_ns, 200 * kMs);
  EXPECT_EQ(second.processes[0].figures.calls, 0U);
  EXPECT_EQ(second.processes[0].calls.p50_ns, -1);
  EXPECT_EQ(series.total(0).calls, 3U);
}

TEST(RankSeries, AWaitThatLastsIsDividedAmongIntervals) {
  RankSeries series;
  series.add_process();
  series.add(0, events::WaitBegun{}, 10 * kMs);
  series.add(0, events::WaitBegun{}, 20 * kMs);  // of a second thread
  series.add(0, events::WaitEnded{}, 30 * kMs);
  EXPECT_EQ(series.cut(50 * kMs).processes[0].figures.exposed_ns, 40 * kMs);
  series.add(0, events::WaitEnded{}, 60 * kMs);
  series.add(0, events::WaitEnded{}, 70 * kMs);  // of none that was seen
  EXPECT_EQ(series.cut(100 * kMs).processes[0].figures.exposed_ns, 10 * kMs);
  EXPECT_EQ(series.total(0).exposed_ns, 50 * kMs);
}

TEST(RankSeries, BytesAreCountedByDirection) {
  RankSeries series;
  series.add_process();
  series.add_process();
  series.add(1,
             events::MessageCompleted{
                 .bytes = 5, .direction = Direction::kSent, .since_posted = millis(2)},
             kMs);
  series.add(1, events::SharedMessageCompleted{.bytes = 7, .direction = Direction::kReceived}, kMs);
  series.add(1, events::WireBin{.direction = Direction::kSent, .bytes = 90}, kMs);
  series.add(1, events::BurstLost{.segments = 3}, kMs);
  const SeriesInterval interval = series.cut(2 * kMs);
  EXPECT_EQ(interval.processes[0].figures.sent_bytes, 0U);
  const RankInterval& one = interval.processes[1];
  EXPECT_EQ(one.figures.sent_bytes, 5U);
  EXPECT_EQ(one.figures.received_bytes, 7U);
  EXPECT_EQ(one.figures.wire_sent_bytes, 90U);
  EXPECT_EQ(one.figures.lost_segments, 3U);
  EXPECT_EQ(one.messages.most_ns, 2 * kMs);
}

TEST(RankSeries, CallsThatNeverEndAreForgotten) {
  RankSeries series;
  series.add_process();
  for (uint32_t call = 1; call <= 100'000; ++call) series.add(0, made(call), call);
  series.add(0, ended(1), 200'000);
  series.add(0, ended(100'000), 200'000);
  const RankInterval interval = series.cut(kMs).processes[0];
  EXPECT_EQ(interval.figures.calls, 2U);
  EXPECT_EQ(interval.calls.most_ns, 100'000);
}

}  // namespace
}  // namespace heddle::monitor
