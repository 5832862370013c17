// Losses of a run: when enough ranks are left, and how that is reported.
#include "launch/ranks/losses.h"

#include <gtest/gtest.h>

namespace heddle::launch {
namespace {

TEST(RankLossesTest, TheRunGoesOnUntilFewerThanTheMinimumAreLeft) {
  for (uint32_t min_ranks = 1; min_ranks <= 4; ++min_ranks) {
    RankLosses losses(4, min_ranks);
    EXPECT_TRUE(losses.enough_left());
    for (uint32_t rank = 0; rank < 4; ++rank) {
      losses.add(rank);
      EXPECT_EQ(losses.left(), 3 - rank);
      EXPECT_EQ(losses.enough_left(), 3 - rank >= min_ranks)
          << min_ranks << " of 4, lost to " << rank;
    }
  }
}

TEST(RankLossesTest, TextsCountTheRanksThatAreLeft) {
  RankLosses losses(4, 2);
  EXPECT_EQ(losses.summary(), "");
  losses.add(2);
  EXPECT_EQ(losses.left_text(), "3 of 4 ranks are left, at least 2 are needed");
  EXPECT_EQ(losses.summary(), "the job ended with 3 of 4 ranks: rank 2 was lost");
  losses.add(0);
  EXPECT_EQ(losses.summary(), "the job ended with 2 of 4 ranks: ranks 2, 0 were lost");
  losses.add(1);
  EXPECT_EQ(losses.left_text(), "1 of 4 ranks is left, at least 2 are needed");
}

}  // namespace
}  // namespace heddle::launch
