// Rank lists: short ones in full, long ones cut.
#include "collectives/rendezvous/rank_list.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::collectives {
namespace {

TEST(RankListTest, NamesRanksAndRanges) {
  EXPECT_EQ(rank_list(std::vector<uint32_t>{3}), "rank 3");
  EXPECT_EQ(rank_list(std::vector<uint32_t>{1, 4, 5, 6}), "ranks 1, 4-6");
  EXPECT_EQ(rank_list(std::vector<uint32_t>{0, 1}), "ranks 0-1");
}

TEST(RankListTest, IsCutWhereItIsLong) {
  std::vector<uint32_t> even;
  for (uint32_t rank = 0; rank < 40; rank += 2) even.push_back(rank);
  EXPECT_EQ(rank_list(even), "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 12 more");
}

}  // namespace
}  // namespace heddle::collectives
