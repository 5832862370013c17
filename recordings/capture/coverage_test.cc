// Intervals join in any order, overlapping or not.
#include "recordings/capture/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace heddle::recordings {
namespace {

TEST(Coverage, AnyOrderOfPiecesCoversAllOnce) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint64_t> order(20);
    for (uint64_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    Coverage coverage;
    for (const uint64_t each : order) {
      EXPECT_FALSE(coverage.covers(200));
      coverage.add(each * 10, each * 10 + 10 + random() % 5);
    }
    EXPECT_TRUE(coverage.covers(200));
  }
}

TEST(Coverage, TooManyHolesNeverCover) {
  Coverage coverage;
  for (uint64_t i = 0; i < 10 * Coverage::kMostIntervals; ++i) coverage.add(i * 10, i * 10 + 5);
  EXPECT_FALSE(coverage.covers(10));
  EXPECT_TRUE(coverage.covers(5));
  EXPECT_TRUE(coverage.covers(0));
}

}  // namespace
}  // namespace heddle::recordings
