// Fabric bounds: rates, routes and rounds of small fabrics, computed by hand.
#include "acceptance/fabric_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "topology/generators.h"

namespace heddle::acceptance {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// Hosts h0 and h1 on leaf0, h2 and h3 on leaf1; 4 spines.
topology::Topology small_fabric() {
  topology::LeafSpineShape shape{.leaves = 2, .spines = 4, .hosts_per_leaf = 2};
  shape.host_link = {
      .rate = megabits_per_s(200), .delay = {}, .queue = {125'000}, .mtu_bytes = 1500};
  shape.spine_link = {
      .rate = megabits_per_s(50), .delay = {}, .queue = {31'250}, .mtu_bytes = 1400};
  return topology::leaf_spine(shape);
}

TEST(FabricBounds, OneFlowHasItsNarrowestTier) {
  const topology::Topology fabric = small_fabric();
  EXPECT_THAT(fluid_rates(fabric, {{0, 1}}), ElementsAre(DoubleNear(200e6, 1)));
  EXPECT_THAT(fluid_rates(fabric, {{0, 2}}), ElementsAre(DoubleNear(200e6, 1)));
}

TEST(FabricBounds, FlowsShareLinksEvenly) {
  const topology::Topology fabric = small_fabric();
  EXPECT_THAT(fluid_rates(fabric, {{0, 2}, {1, 3}}),
              ElementsAre(DoubleNear(100e6, 1), DoubleNear(100e6, 1)));
  EXPECT_THAT(fluid_rates(fabric, {{1, 0}, {2, 0}}),
              ElementsAre(DoubleNear(100e6, 1), DoubleNear(100e6, 1)));
}

TEST(FabricBounds, AnUnlimitedFabricHasNoBound) {
  EXPECT_THAT(fluid_rates(topology::point_to_point({.rate = {}}), {{0, 1}}), ElementsAre(0.0));
}

TEST(FabricBounds, CountsRoutesAndTheirMtuAndQueues) {
  const topology::Topology fabric = small_fabric();
  const RouteFacts far = routes_between(fabric, {0, 3});
  EXPECT_EQ(far.routes, 4u);
  EXPECT_EQ(far.mtu_bytes, 1400u);
  EXPECT_EQ(far.queues, millis(20));  // four hops of 5 ms
  const RouteFacts near = routes_between(fabric, {0, 1});
  EXPECT_EQ(near.routes, 1u);
  EXPECT_EQ(near.mtu_bytes, 1500u);
  EXPECT_EQ(routes_between(fabric, {1, 1}).routes, 0u);
}

TEST(FabricBounds, ThreeTiersHaveARouteForEachCore) {
  const topology::Topology fabric = topology::fat_tree({});
  EXPECT_EQ(routes_between(fabric, {0, 15}).routes, 4u);
  EXPECT_EQ(routes_between(fabric, {0, 2}).routes, 2u);
  const std::vector<uint32_t> tiers = tiers_of(fabric);
  EXPECT_EQ(std::set<uint32_t>(tiers.begin(), tiers.end()), (std::set<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(leaf_of(fabric, 3), 1u);
}

TEST(FabricBounds, AnIpv6PacketHasTwentyBytesLessOfPayloadThanAnIpv4One) {
  EXPECT_DOUBLE_EQ(payload_share(1'500, IpVersion::k4), (1'500 - 68) / 1'514.0);
  EXPECT_DOUBLE_EQ(payload_share(1'500, IpVersion::k6), (1'500 - 88) / 1'514.0);
  EXPECT_EQ(payload_share(68, IpVersion::k4), 0);
  EXPECT_EQ(payload_share(88, IpVersion::k6), 0);
}

TEST(FabricBounds, EveryPairIsInOneRoundAndNoHostTwice) {
  for (uint32_t hosts = 2; hosts < 9; ++hosts) {
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    for (const auto& round : rounds_of(hosts, true)) {
      std::set<uint32_t> busy;
      for (const HostPair& pair : round) {
        EXPECT_TRUE(busy.insert(pair.from).second);
        EXPECT_TRUE(busy.insert(pair.to).second);
        EXPECT_TRUE(pairs.insert({pair.from, pair.to}).second);
      }
    }
    EXPECT_EQ(pairs.size(), hosts * (hosts - 1));
  }
}

TEST(FabricBounds, ARingHasEachHostAndTheNextInRoundsOfDisjointPairs) {
  for (uint32_t hosts = 2; hosts < 9; ++hosts) {
    std::set<std::pair<uint32_t, uint32_t>> pairs;
    const auto rounds = ring_rounds(hosts, true);
    EXPECT_LE(rounds.size(), 6u);
    for (const auto& round : rounds) {
      std::set<uint32_t> busy;
      for (const HostPair& pair : round) {
        EXPECT_TRUE(busy.insert(pair.from).second);
        EXPECT_TRUE(busy.insert(pair.to).second);
        EXPECT_TRUE(pairs.insert({pair.from, pair.to}).second);
        const bool next = pair.to == (pair.from + 1) % hosts || pair.from == (pair.to + 1) % hosts;
        EXPECT_TRUE(next);
      }
    }
    EXPECT_EQ(pairs.size(), hosts == 2 ? 2 : 2 * hosts);
  }
}

}  // namespace
}  // namespace heddle::acceptance
