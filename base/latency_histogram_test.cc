// Percentiles agree with those of the sorted samples to within a bucket's width.
#include "base/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace heddle {
namespace {

TEST(LatencyHistogram, EmptyIsZero) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.min(), Nanos{});
  EXPECT_EQ(histogram.percentile(500), Nanos{});
  EXPECT_EQ(histogram.mean(), Nanos{});
}

TEST(LatencyHistogram, SmallValuesAreExact) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 200; ++i) histogram.add(nanos(i));
  EXPECT_EQ(histogram.percentile(500), nanos(100));
  EXPECT_EQ(histogram.percentile(990), nanos(198));
  EXPECT_EQ(histogram.percentile(1000), nanos(200));
  EXPECT_EQ(histogram.min(), nanos(1));
}

TEST(LatencyHistogram, AgreesWithSortedSamples) {
  Random random(7);
  for (const uint64_t most : {1'000ULL, 1'000'000ULL, 10'000'000'000ULL}) {
    LatencyHistogram histogram;
    std::vector<int64_t> samples;
    for (int i = 0; i < 10'000; ++i) {
      samples.push_back(static_cast<int64_t>(random.below(most)));
      histogram.add(nanos(samples.back()));
    }
    std::sort(samples.begin(), samples.end());
    for (const uint32_t per_mille : {1U, 500U, 990U, 999U}) {
      const int64_t exact = samples[samples.size() * per_mille / 1000 - 1];
      const int64_t told = histogram.percentile(per_mille).count;
      EXPECT_GE(told, exact);
      EXPECT_LE(told, exact + exact / 200 + 1);
    }
    EXPECT_EQ(histogram.max().count, samples.back());
  }
}

TEST(LatencyHistogram, TakesAnything) {
  LatencyHistogram histogram;
  histogram.add(nanos(-5));
  histogram.add(Nanos::never());
  EXPECT_EQ(histogram.count(), 2U);
  EXPECT_EQ(histogram.max(), Nanos::never());
  EXPECT_EQ(histogram.percentile(1000), Nanos::never());
}

}  // namespace
}  // namespace heddle
