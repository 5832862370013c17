// Leftovers of a lost rank: which processes are, by their environment.
#include "launch/ranks/leftovers.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::launch {
namespace {

using std::string_literals::operator""s;

TEST(LeftoversTest, AProcessIsOfTheRankWhoseVariablesItHas) {
  const std::string environment = "HOME=/root\0HEDDLE_RANK=1\0HEDDLE_RUN=00ab\0TERM=dumb\0"s;
  EXPECT_TRUE(is_of_rank(environment, "00ab", 1));
  EXPECT_FALSE(is_of_rank(environment, "00ab", 0));
  EXPECT_FALSE(is_of_rank(environment, "00ac", 1)) << "another run";
  EXPECT_TRUE(is_of_rank("HEDDLE_RUN=00ab\0HEDDLE_RANK=1"s, "00ab", 1)) << "cut off by the kernel";
}

TEST(LeftoversTest, VariablesCountAsAWhole) {
  EXPECT_FALSE(is_of_rank("HEDDLE_RANK=12\0HEDDLE_RUN=00ab\0"s, "00ab", 1));
  EXPECT_FALSE(is_of_rank("HEDDLE_RANK=1\0HEDDLE_RUN=00abc\0"s, "00ab", 1));
  EXPECT_FALSE(is_of_rank("OLD_HEDDLE_RANK=1\0HEDDLE_RUN=00ab\0"s, "00ab", 1));
  EXPECT_FALSE(is_of_rank("X=HEDDLE_RANK=1\0HEDDLE_RUN=00ab\0"s, "00ab", 1));
  EXPECT_FALSE(is_of_rank("HEDDLE_RUN=00ab\0"s, "00ab", 1));
  EXPECT_FALSE(is_of_rank("\0\0\0"s, "00ab", 1));
  EXPECT_FALSE(is_of_rank("", "00ab", 1));
}

}  // namespace
}  // namespace heddle::launch
