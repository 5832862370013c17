// Groups of lanes have no link between switches in common; one group where that is not known.
#include "planner/paths/lane_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "topology/generators.h"

namespace heddle::planner {
namespace {

constexpr uint32_t kRails = 4;
constexpr uint16_t kPaths = 64;

topology::Topology rails() {
  return topology::leaf_spine({.leaves = 8 * kRails,
                               .spines = 8,
                               .hosts_per_leaf = 128,
                               .nics_per_host = kRails,
                               .rails = true});
}

// Each host sends to one on another leaf.
Demand shifted(const topology::Topology& topology, uint32_t distance) {
  Demand demand;
  const auto hosts = static_cast<uint32_t>(topology.hosts.size());
  for (uint32_t host = 0; host < hosts; ++host) {
    demand.endpoints.push_back({.host = host});
    demand.flows.push_back({host, (host + distance) % hosts, 1'000});
  }
  return demand;
}

std::vector<uint16_t> groups_of(const Fabric& fabric, const std::vector<Lane>& lanes) {
  const std::optional<RegularClos> clos = RegularClos::find(fabric);
  return group_lanes(fabric, clos ? &*clos : nullptr, lanes);
}

TEST(LaneGroups, RailsHaveNoLinkInCommon) {
  const topology::Topology topology = rails();
  Fabric fabric(topology, {});
  for (const uint32_t distance : {1U, 128U, 300U}) {
    const Demand demand = shifted(topology, distance);
    const std::vector<Lane> lanes = lanes_of_demand(fabric, demand, kPaths);
    const std::vector<uint16_t> groups = groups_of(fabric, lanes);
    ASSERT_EQ(groups.size(), lanes.size());
    std::map<LinkId, uint16_t> owner;
    std::set<uint16_t> all;
    for (size_t i = 0; i < lanes.size(); ++i) {
      all.insert(groups[i]);
      const FlowDemand& flow = demand.flows[lanes[i].flow];
      for (uint16_t path = lanes[i].lane; path < kPaths; path += kRails) {
        Route route;
        ASSERT_TRUE(fabric.route(key_of(fabric, demand, flow, lanes[i].lane, path), route));
        for (const LinkId link : route.between()) {
          ASSERT_EQ(owner.try_emplace(link, groups[i]).first->second, groups[i]) << link;
        }
      }
    }
    EXPECT_GE(all.size(), kRails) << distance;
    EXPECT_LE(all.size(), params::kMostLaneGroups);
    EXPECT_EQ(*all.rbegin() + 1U, all.size());  // numbered without gaps
  }
}

TEST(LaneGroups, AreOneWithFewLanesOrACableThatIsDown) {
  const topology::Topology topology = rails();
  const Demand demand = shifted(topology, 128);
  Fabric fabric(topology, {});
  const std::vector<Lane> lanes = lanes_of_demand(fabric, demand, kPaths);
  const std::vector<uint16_t> whole(lanes.size(), 0);
  EXPECT_NE(groups_of(fabric, lanes), whole);
  const std::vector<Lane> few(lanes.begin(), lanes.begin() + 100);
  EXPECT_EQ(groups_of(fabric, few), std::vector<uint16_t>(100));
  // A NIC's, which leaves the leaves' uplinks equal.
  fabric.set_down(0, true);
  EXPECT_EQ(groups_of(fabric, lanes), whole);
}

TEST(LaneGroups, AreOneOnThreeTiers) {
  const topology::Topology topology = topology::fat_tree({.pods = 8, .hosts_per_leaf = 512});
  const Demand demand = shifted(topology, 512);
  Fabric fabric(topology, {});
  const std::vector<Lane> lanes = lanes_of_demand(fabric, demand, 1);
  ASSERT_GE(lanes.size(), params::kLeastGroupedLanes);
  EXPECT_EQ(groups_of(fabric, lanes), std::vector<uint16_t>(lanes.size()));
}

}  // namespace
}  // namespace heddle::planner
