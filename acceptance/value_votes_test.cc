// Value votes: more than half decide, and half of the hosts are not blamed for the other half.
#include "acceptance/value_votes.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

TEST(ValueVotes, MoreThanHalfOfTheHostsDecide) {
  EXPECT_EQ(value_of_most({}), std::nullopt);
  EXPECT_EQ(value_of_most({{"h0", "a"}}), "a");
  EXPECT_EQ(value_of_most({{"h0", "b"}, {"h1", "a"}}), std::nullopt);
  EXPECT_EQ(value_of_most({{"h0", "b"}, {"h1", "a"}, {"h2", "b"}}), "b");
  EXPECT_EQ(value_of_most({{"h0", "b"}, {"h1", "a"}, {"h2", "b"}, {"h3", "a"}}), std::nullopt);
  EXPECT_EQ(value_of_most({{"h0", "b"}, {"h1", "a"}, {"h2", "b"}, {"h3", "c"}}), std::nullopt);
}

TEST(ValueVotes, WithoutAMajorityTheHostsOfEachValueAreNamed) {
  const Row two = split_row("NIC firmware", {{"h0", "28.39"}, {"h1", "28.35"}});
  EXPECT_EQ(two.where, "h0, h1");
  EXPECT_EQ(two.measured, "28.39 on h0; 28.35 on h1");
  EXPECT_EQ(two.expected, "the same on all");
  EXPECT_EQ(two.grade, Grade::kWarn);
  EXPECT_FALSE(two.todo.empty());
  const HostValues four = {{"h0", "b"}, {"h1", "a"}, {"h2", "b"}, {"h3", "a"}};
  EXPECT_EQ(split_row("NIC MTU", four, "eth1: ").measured, "eth1: b on h0, h2; a on h1, h3");
}

}  // namespace
}  // namespace heddle::acceptance
