// The statistics of `heddle bench -I 1` are those that nccl-tests' readers expect.
#include "apps/cli/bench/iteration_times.h"

#include <gtest/gtest.h>

#include <numeric>

namespace heddle::cli {
namespace {

TEST(IterationTimes, ACallTakesAsLongAsOnItsSlowestRank) {
  const IterationTimes times = {.of_ranks_us = {{1, 5, 2}, {4, 3, 2}}};
  EXPECT_EQ(times.slowest_us(), (std::vector<double>{4, 5, 2}));
}

TEST(IterationTimes, PercentilesAreNearestRanks) {
  std::vector<double> hundred(100);
  std::iota(hundred.rbegin(), hundred.rend(), 1.0);  // 100 down to 1
  const IterationStatistics of_hundred = statistics_of({.of_ranks_us = {hundred}});
  EXPECT_EQ(of_hundred.min_us, 1);
  EXPECT_EQ(of_hundred.max_us, 100);
  EXPECT_EQ(of_hundred.p50_us, 51);
  EXPECT_EQ(of_hundred.p95_us, 95);
  EXPECT_EQ(of_hundred.p99_us, 99);
  EXPECT_DOUBLE_EQ(of_hundred.avg_us, 50.5);
  // With fewer than 100 calls p99 is the slowest one.
  EXPECT_EQ(statistics_of({.of_ranks_us = {{3, 1, 2}}}).p99_us, 3);
}

TEST(IterationTimes, DeviationIsThatOfAllCallsAndInPercentOfTheMean) {
  const IterationStatistics two = statistics_of({.of_ranks_us = {{1, 3}}});
  EXPECT_DOUBLE_EQ(two.stdev_us, 1);
  EXPECT_DOUBLE_EQ(two.cv_pct, 50);
}

TEST(IterationTimes, SkippedCallsDoNotCountButStay) {
  const IterationTimes times = {.of_ranks_us = {{900, 2, 4}}, .skipped = 1};
  EXPECT_EQ(statistics_of(times).max_us, 4);
  EXPECT_DOUBLE_EQ(statistics_of(times).avg_us, 3);
  EXPECT_EQ(times.slowest_us().size(), 3U);
}

TEST(IterationTimes, NoCallsAreNoDivisionByZero) {
  EXPECT_EQ(statistics_of({}).avg_us, 0);
  EXPECT_EQ(statistics_of({.of_ranks_us = {{1}}, .skipped = 1}).cv_pct, 0);
}

}  // namespace
}  // namespace heddle::cli
