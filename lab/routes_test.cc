// Routes: all shortest paths, around links that are down.
#include "lab/routes.h"

#include <gtest/gtest.h>

#include "topology/generators.h"

namespace heddle::lab {
namespace {

struct Fabric {
  Layout layout;
  std::vector<bool> up;

  explicit Fabric(topology::Topology topology)
      : layout(std::move(*make_layout("test", std::move(topology)))),
        up(layout.topology.links.size(), true) {}

  // The names of the devices through which `place` reaches a NIC.
  std::vector<std::string> next_hops(const std::string& place, uint32_t nic) const {
    const NextHops hops = lab::next_hops(layout, up);
    std::vector<std::string> names;
    for (size_t at = 0; at < layout.places.size(); ++at) {
      if (layout.places[at].name != place) continue;
      for (const uint32_t port : hops[at][nic]) names.push_back(layout.ports[port].device);
    }
    return names;
  }
};

using Names = std::vector<std::string>;

TEST(RoutesTest, LeavesUseAllSpinesAndReachTheirOwnHostsDirectly) {
  const Fabric fabric(topology::leaf_spine({.leaves = 2, .spines = 3}));
  EXPECT_EQ(fabric.next_hops("leaf0", 3), (Names{"spine0", "spine1", "spine2"}));
  EXPECT_EQ(fabric.next_hops("leaf0", 1), Names{"h1"});
  EXPECT_EQ(fabric.next_hops("spine2", 3), Names{"leaf1"});
}

TEST(RoutesTest, AllLeavesAvoidASpineThatLostALink) {
  const topology::LeafSpineShape shape{.leaves = 2, .spines = 3};
  Fabric fabric(topology::leaf_spine(shape));
  fabric.up[topology::leaf_spine_link(shape, 0, 1)] = false;
  EXPECT_EQ(fabric.next_hops("leaf0", 3), (Names{"spine0", "spine2"}));
  EXPECT_EQ(fabric.next_hops("leaf1", 0), (Names{"spine0", "spine2"}));
  EXPECT_EQ(fabric.next_hops("leaf1", 2), Names{"h2"});
}

TEST(RoutesTest, TrafficWithinAPodOfAFatTreeStaysInThePod) {
  const Fabric fabric(topology::fat_tree({}));
  EXPECT_EQ(fabric.next_hops("leaf0", 2), (Names{"spine0", "spine1"}));
  EXPECT_EQ(fabric.next_hops("spine0", 2), Names{"leaf1"});
  EXPECT_EQ(fabric.next_hops("spine0", 15), (Names{"core0", "core1"}));
  EXPECT_EQ(fabric.next_hops("core3", 15), Names{"spine7"});
}

TEST(RoutesTest, HostsDoNotForward) {
  Fabric fabric(
      topology::leaf_spine({.leaves = 2, .spines = 1, .nics_per_host = 2, .rails = true}));
  for (uint32_t link = 4; link < fabric.up.size(); ++link) fabric.up[link] = false;
  EXPECT_EQ(fabric.next_hops("leaf0", 1), Names{}) << "h0's second NIC is on the other leaf";
}

}  // namespace
}  // namespace heddle::lab
