// Sizes are exact up to a bound, and none is lost beyond it.
#include "recordings/size_counts.h"

#include <gtest/gtest.h>

namespace heddle::recordings {
namespace {

TEST(SizeCounts, BeyondTheBoundSizesShareRanges) {
  SizeCounts counts;
  for (uint64_t size = 0; size < 5000; ++size) counts.add(size, 2);
  counts.add(UINT64_MAX);
  uint64_t sum = 0;
  uint64_t below = 0;
  for (const SizeRow& row : counts.rows()) {
    EXPECT_LE(row.least, row.most);
    sum += row.count;
    if (row.least == row.most) ++below;
  }
  EXPECT_EQ(sum, counts.count());
  EXPECT_EQ(sum, 10'001u);
  EXPECT_EQ(below, SizeCounts::kMostExact + 1);
  EXPECT_LE(counts.rows().size(), SizeCounts::kMostExact + 65);
}

TEST(SizeCounts, FewSizesArePrintedExactlyAndManyAsRanges) {
  SizeCounts counts;
  for (const uint64_t size : {0, 1, 2, 3, 4}) counts.add(size);
  EXPECT_EQ(counts.rows_or_ranges(5).size(), 5u);
  const auto ranges = counts.rows_or_ranges(4);  // 0, 1, 2 to 3, 4
  ASSERT_EQ(ranges.size(), 4u);
  EXPECT_EQ(ranges[2].least, 2u);
  EXPECT_EQ(ranges[2].most, 3u);
  EXPECT_EQ(ranges[2].count, 2u);
}

}  // namespace
}  // namespace heddle::recordings
