// Fabric bounds: rates, routes and rounds of small fabrics, computed by hand.
#include "acceptance/fabric_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
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

TEST(FabricBounds, RoceHasTheLargestPayloadThatFitsTheMtu) {
  EXPECT_THAT(roce_payload_share(9000, IpVersion::k4), DoubleNear(4096.0 / 4170, 1e-9));
  EXPECT_THAT(roce_payload_share(1500, IpVersion::k4), DoubleNear(1024.0 / 1098, 1e-9));
  EXPECT_THAT(roce_payload_share(1500, IpVersion::k6), DoubleNear(1024.0 / 1118, 1e-9));
  EXPECT_THAT(roce_payload_share(0, IpVersion::k4), DoubleNear(256.0 / 330, 1e-9));
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

TEST(FabricBounds, AFlowOfOneRouteHasItBesideAllThatMayTakeIt) {
  const topology::Topology fabric = small_fabric();
  EXPECT_THAT(one_route_rates(fabric, {{0, 2}, {1, 3}}),
              ElementsAre(DoubleNear(25e6, 1), DoubleNear(25e6, 1)));
  EXPECT_THAT(one_route_rates(fabric, {{0, 1}, {2, 3}}),
              ElementsAre(DoubleNear(200e6, 1), DoubleNear(200e6, 1)));
}

TEST(FabricBounds, RoutesOfAFurtherNicAreItsOwn) {
  topology::LeafSpineShape shape{.leaves = 2, .spines = 1, .hosts_per_leaf = 2, .nics_per_host = 2};
  shape.rails = true;
  shape.host_link.mtu_bytes = shape.spine_link.mtu_bytes = 1500;
  topology::Topology fabric = topology::leaf_spine(shape);
  for (topology::Link& link : fabric.links) {
    const bool second =
        link.a.kind == topology::NodeKind::kNic && topology::nic_number(fabric, link.a.index) == 1;
    if (second) link.shape.mtu_bytes = 9000;
  }
  EXPECT_EQ(routes_between(fabric, {0, 1}).mtu_bytes, 1500U);
  EXPECT_EQ(routes_between(fabric, {0, 1, {1, 1}}).mtu_bytes, 9000U);
  EXPECT_EQ(routes_between(fabric, {0, 1, {0, 1}}).mtu_bytes, 1500U) << "over the spine";
  EXPECT_EQ(routes_between(fabric, {0, 1, {2, 2}}).routes, 0U) << "they have two";
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

// Hosts of 200 Mbit/s: 32 under each of 16 leaves, 16 spines.
topology::Topology large_fabric() {
  topology::LeafSpineShape shape{.leaves = 16, .spines = 16, .hosts_per_leaf = 32};
  shape.host_link = {.rate = megabits_per_s(200), .mtu_bytes = 1500};
  shape.spine_link = {.rate = megabits_per_s(100), .mtu_bytes = 1400};
  return topology::leaf_spine(shape);
}

TEST(FabricBounds, AnAllToAllIsTheSumOfAllPairs) {
  topology::Topology parallel = small_fabric();
  parallel.links.push_back(parallel.links.back());
  for (const topology::Topology& fabric : {small_fabric(), parallel, topology::fat_tree({})}) {
    const auto hosts = static_cast<uint32_t>(fabric.hosts.size());
    std::map<LinkUse, double> sum;
    for (uint32_t from = 0; from < hosts; ++from) {
      for (uint32_t to = 0; to < hosts; ++to) {
        for (const auto& [use, share] : links_between(fabric, {from, to})) sum[use] += share;
      }
    }
    const std::map<LinkUse, double> all = Routes(fabric).all_to_all();
    ASSERT_EQ(all.size(), sum.size());
    for (const auto& [use, flows] : sum) EXPECT_NEAR(all.at(use), flows, 1e-9) << use.link;
  }
}

// Each pair had its own list of all links and its own distances: it took minutes.
TEST(FabricBounds, PairsOfALargeFabricShareItsLinksAndDistances) {
  const topology::Topology fabric = large_fabric();
  Routes routes(fabric);
  std::map<uint32_t, size_t> pairs_by_length;
  for (uint32_t from = 0; from < 512; ++from) {
    for (uint32_t to = 0; to < 512; ++to) ++pairs_by_length[routes.length({from, to})];
  }
  EXPECT_EQ(pairs_by_length, (std::map<uint32_t, size_t>{{0, 512}, {2, 512 * 31}, {4, 512 * 480}}));
  const std::map<LinkUse, double> all = routes.all_to_all();
  EXPECT_EQ(all.size(), 2 * fabric.links.size());
  EXPECT_NEAR(all.at({0, true}), 511, 1e-6);
  EXPECT_NEAR(all.at({512, true}), 32.0 * 480 / 16, 1e-6);
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
