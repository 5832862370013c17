// Orders of ranks: pairs that belong together come together, and what cannot be better stays.
#include "planner/rank_order.h"

#include <gtest/gtest.h>

#include "topology/generators.h"

namespace heddle::planner {
namespace {

Demand demand_of(const topology::Topology& topology,
                 const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
  Demand demand = demand_of_flows({}, topology);
  for (const auto& [from, to] : pairs) demand.flows.push_back({from, to, 1'000'000});
  return demand;
}

// Bytes times links between switches.
double crossing_of(const topology::Topology& topology, const Demand& demand) {
  const Result<RankOrder> order = order_ranks(topology, demand, 0);
  return order->crossing;
}

TEST(RankOrder, PairsOnDifferentLeavesComeTogether) {
  const topology::Topology topology =
      topology::leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 4});
  // Neighbors of a ring, dealt out to the leaves in turn: 0 4 1 5 2 6 3 7.
  const std::vector<uint32_t> ring = {0, 4, 1, 5, 2, 6, 3, 7};
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (size_t i = 0; i < ring.size(); ++i) pairs.push_back({ring[i], ring[(i + 1) % ring.size()]});
  const Demand demand = demand_of(topology, pairs);
  const Result<RankOrder> order = order_ranks(topology, demand, 16);
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->crossing, 8 * 2e6);  // up and down
  ASSERT_FALSE(order->swaps.empty());
  EXPECT_LE(order->swaps.back().crossing, 4 * 2e6);
  EXPECT_EQ(crossing_of(topology, reordered(demand, order->to)), order->swaps.back().crossing);
}

TEST(RankOrder, NothingMovesWhereNothingIsGained) {
  const topology::Topology topology =
      topology::leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const Result<RankOrder> order =
      order_ranks(topology, demand_of(topology, {{0, 1}, {1, 0}, {2, 3}, {3, 0}}), 16);
  ASSERT_TRUE(order.has_value());
  EXPECT_TRUE(order->swaps.empty());
  EXPECT_EQ(order->to, (std::vector<uint32_t>{0, 1, 2, 3}));
}

// It was read as a switch beyond the last.
TEST(RankOrder, HostsOnACableWithoutASwitchAreRefused) {
  const topology::Topology cable = topology::point_to_point({});
  Demand demand;
  demand.endpoints = {{.host = 0}, {.host = 1}};
  demand.flows = {{0, 1, 1'000}};
  const Result<RankOrder> order = order_ranks(cable, demand, 10);
  ASSERT_FALSE(order.has_value());
  EXPECT_NE(order.error().why.find("is on no switch"), std::string::npos);
}

}  // namespace
}  // namespace heddle::planner
