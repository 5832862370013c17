// How much slower a fabric is made so that one machine carries it, and what stays as it was.
#include "apps/cli/plan/advise/slowed_fabric.h"

#include <gtest/gtest.h>

#include "topology/generators.h"

namespace heddle::cli {
namespace {

topology::Topology two_leaves(uint64_t host_bits_per_s) {
  topology::LeafSpineShape shape;
  shape.host_link.rate = {host_bits_per_s};
  shape.spine_link.rate = {2'000};
  shape.spine_link.ecn_threshold = kibibytes(100);
  return topology::leaf_spine(shape);
}

TEST(SlowedFabric, FourHostsOf100GigabitsAreSlowedUntilAMachineCarriesThem) {
  EXPECT_EQ(slowing_of(two_leaves(100'000'000'000)), 200);
}

TEST(SlowedFabric, AFabricThatAMachineCarriesIsNotSlowed) {
  EXPECT_EQ(slowing_of(two_leaves(100'000'000)), 1);
}

TEST(SlowedFabric, OnlyRatesAreLowerAndNoneIsBelowWhatAFileCanName) {
  const topology::Topology fabric = two_leaves(100'000'000'000);
  const topology::Topology slow = slowed(fabric, 200);
  ASSERT_EQ(slow.links.size(), fabric.links.size());
  EXPECT_EQ(slow.links.front().shape.rate.count, 500'000'000u);
  EXPECT_EQ(slow.links.back().shape.rate.count, 1'000u);
  EXPECT_EQ(slow.links.back().shape.ecn_threshold, kibibytes(100));
  EXPECT_EQ(slow.links.back().shape.queue, fabric.links.back().shape.queue);
}

TEST(SlowedFabric, ALinkWithoutARateKeepsNone) {
  EXPECT_EQ(slowed(two_leaves(0), 8).links.front().shape.rate.count, 0u);
}

}  // namespace
}  // namespace heddle::cli
