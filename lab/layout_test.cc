// Layouts: names, addresses and devices depend on the topology alone.
#include "lab/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "topology/generators.h"

namespace heddle::lab {
namespace {

using testing::HasSubstr;

Layout laid_out(topology::Topology topology) {
  Result<Layout> layout = make_layout("test", std::move(topology));
  EXPECT_TRUE(layout);
  return std::move(*layout);
}

TEST(LayoutTest, DevicesAreNamedAfterTheirPeer) {
  const Layout layout =
      laid_out(topology::leaf_spine({.leaves = 2, .spines = 2, .nics_per_host = 2, .rails = true}));
  std::set<std::string> leaf0;
  for (const Place& place : layout.places) {
    if (place.name != "leaf0") continue;
    for (const uint32_t at : place.ports) leaf0.insert(layout.ports[at].device);
  }
  EXPECT_EQ(leaf0, (std::set<std::string>{"h0.0", "h1.0", "spine0", "spine1"}));
  EXPECT_EQ(layout.ports[layout.places[1].ports[1]].device, "nic1");
  EXPECT_EQ(layout.places[0].netns, "heddle.test.h0");
}

TEST(LayoutTest, ParallelLinksAndLongNamesGetUniqueDevices) {
  const topology::Topology topology = topology::parallel_paths(3, {}, {});
  const Layout layout = laid_out(topology);
  EXPECT_EQ(layout.a(2).device, "right");
  EXPECT_EQ(layout.a(3).device, "right.p1");
  EXPECT_EQ(layout.a(4).device, "right.p2");
  EXPECT_EQ(layout.b(4).peer_place, layout.a(4).place);
}

TEST(LayoutTest, EveryNicHasAnAddressWithItsHostsNumber) {
  const Layout layout = laid_out(
      topology::leaf_spine({.leaves = 10, .spines = 1, .hosts_per_leaf = 2, .nics_per_host = 2}));
  EXPECT_EQ(nic_ipv4(layout, 35), "10.1.17.1");
  EXPECT_EQ(nic_ipv6(layout, 35), "fd00:1:11::1");
  EXPECT_THAT(hosts_file(layout), HasSubstr("10.0.17.1 h17 h17-nic0\n"));
  EXPECT_THAT(hosts_file(layout), HasSubstr("fd00:1:11::1 h17-nic1-v6\n"));
}

TEST(LayoutTest, TooLargeTopologiesAreRefused) {
  const Result<Layout> layout =
      make_layout("test", topology::leaf_spine({.leaves = 1, .spines = 1, .hosts_per_leaf = 257}));
  ASSERT_FALSE(layout);
  EXPECT_THAT(layout.error().message(), HasSubstr("it has 257 hosts"));
}

}  // namespace
}  // namespace heddle::lab
