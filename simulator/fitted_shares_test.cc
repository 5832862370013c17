// Shares of a plan for connections with other ports: each path that has one takes the planned
// route, and a plan whose routes are out of reach does not fit.
#include "simulator/fitted_shares.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "topology/generators.h"

namespace heddle::simulator {
namespace {

using transport::PlannedShare;

constexpr uint32_t kSpines = 4;
constexpr uint16_t kPaths = 64;
constexpr uint16_t kOtherSources = topology::kFirstSourcePort + topology::kSourcePorts;
constexpr uint16_t kOtherPort = topology::kFlowPort + 1;

struct Fabric {
  explicit Fabric(uint64_t seed)
      : network(topology::leaf_spine(
                    {.leaves = 2, .spines = kSpines, .hosts_per_leaf = 1, .hash_seed = seed}),
                {}, seed) {}

  PathEnds ends() const { return {from, to, kOtherSources, kOtherPort}; }
  // The uplink that the first host's leaf hashes a path to.
  uint32_t uplink(uint16_t first_source_port, uint16_t port, uint16_t path) const {
    return topology::ecmp_choice(
        kSpines, network.topology().switches.front().hash_seed,
        {from[0], to[0], static_cast<uint16_t>(first_source_port + path), port});
  }
  uint32_t planned_uplink(uint16_t path) const {
    return uplink(topology::kFirstSourcePort, topology::kFlowPort, path);
  }

  std::array<NicId, 1> from = {0};
  std::array<NicId, 1> to = {1};
  Network network;
};

TEST(FittedShares, EveryPathWithAShareTakesThePlannedRoute) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Fabric fabric(seed);
    const std::vector<PlannedShare> planned = {{7, 1'000'000}};
    const auto shares = fitted_shares(fabric.network, fabric.ends(), kPaths, planned);
    ASSERT_FALSE(shares.empty());
    EXPECT_LT(shares.size(), kPaths / 2U);  // about a quarter of them
    for (const PlannedShare& each : shares) {
      EXPECT_EQ(fabric.uplink(kOtherSources, kOtherPort, each.path), fabric.planned_uplink(7));
    }
  }
}

TEST(FittedShares, RoutesKeepTheirSharesAndPathsOfOneRouteAddUp) {
  const Fabric fabric(3);
  std::array<uint64_t, kSpines> wanted{};
  std::vector<PlannedShare> planned;
  for (const uint16_t path : {uint16_t{0}, uint16_t{1}, uint16_t{2}, uint16_t{3}, uint16_t{4}}) {
    planned.push_back({path, 200'000});
    wanted[fabric.planned_uplink(path)] += 200'000;
  }
  std::array<uint64_t, kSpines> given{};
  for (const PlannedShare& each : fitted_shares(fabric.network, fabric.ends(), kPaths, planned)) {
    given[fabric.uplink(kOtherSources, kOtherPort, each.path)] += each.share_per_million;
  }
  for (uint32_t i = 0; i < kSpines; ++i) {
    EXPECT_NEAR(static_cast<double>(given[i]), static_cast<double>(wanted[i]), kPaths);
  }
}

// On the ports of flows the plan's own paths are among those that take its routes.
TEST(FittedShares, ThePlansOwnPathsFit) {
  const Fabric fabric(2);
  const std::vector<PlannedShare> planned = {{5, 1'000'000}};
  const PathEnds of_flows{fabric.from, fabric.to};
  bool found = false;
  for (const PlannedShare& each : fitted_shares(fabric.network, of_flows, kPaths, planned)) {
    found |= each.path == 5;
  }
  EXPECT_TRUE(found);
}

TEST(FittedShares, APlanWhoseRoutesNoPathTakesDoesNotFit) {
  const Fabric fabric(1);
  const uint32_t taken = fabric.uplink(kOtherSources, kOtherPort, 0);
  uint16_t path = 0;
  while (fabric.planned_uplink(path) == taken) ++path;
  const std::vector<PlannedShare> planned = {{path, 1'000'000}};
  EXPECT_TRUE(fitted_shares(fabric.network, fabric.ends(), 1, planned).empty());
}

}  // namespace
}  // namespace heddle::simulator
