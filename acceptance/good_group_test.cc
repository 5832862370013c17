// Good groups of a small fabric, by rows as the stages write them.
#include "acceptance/good_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "acceptance/fabric_bounds.h"
#include "topology/generators.h"

namespace heddle::acceptance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Hosts h0 and h1 on leaf0, h2 and h3 on leaf1; two spines.
topology::Topology small_fabric() {
  return topology::leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
}

Row failed(const std::string& where) {
  return {"goodput", where, "1 Mb/s", "100 Mb/s", Grade::kFail, "mend it"};
}

std::vector<std::string> places_of(const GoodGroup& group) {
  std::vector<std::string> places;
  for (const LeftOut& each : group.left_out) places.push_back(each.place);
  return places;
}

TEST(GoodGroup, RowsThatPassOrWarnLeaveNothingOut) {
  const GoodGroup group =
      good_group(small_fabric(), {{"MTU", "h1", "1500", ""}, {"TCP", "h2", "x", "", Grade::kWarn}});
  EXPECT_THAT(group.hosts, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(group.left_out, IsEmpty());
}

TEST(GoodGroup, AHostIsLeftOutByItsNameAndByItsLink) {
  EXPECT_THAT(good_group(small_fabric(), {failed("h2")}).hosts, ElementsAre(0, 1, 3));
  for (const char* const where : {"h2 - leaf1", "h2 to leaf1", "leaf1 to h2"}) {
    const GoodGroup group = good_group(small_fabric(), {failed(where)});
    EXPECT_THAT(group.hosts, ElementsAre(0, 1, 3)) << where;
    EXPECT_THAT(places_of(group), ElementsAre("h2"));
  }
}

TEST(GoodGroup, ALinkBetweenSwitchesLeavesTheHosts) {
  const GoodGroup group = good_group(small_fabric(), {failed("leaf0 to spine1")});
  EXPECT_THAT(group.hosts, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(places_of(group), ElementsAre("leaf0 - spine1"));
  const PartOfTopology part = part_of(small_fabric(), group);
  EXPECT_EQ(part.topology.links.size(), small_fabric().links.size() - 1);
  EXPECT_EQ(routes_between(part.topology, {0, 2}).routes, 1U);
}

TEST(GoodGroup, OfPairsTheHostInMostOfThemIsLeftOut) {
  const GoodGroup group = good_group(small_fabric(), {failed("h0 to h1"), failed("h0 to h2"),
                                                      failed("h3 to h0"), failed("h2 to h0")});
  EXPECT_THAT(group.hosts, ElementsAre(1, 2, 3));
  EXPECT_THAT(places_of(group), ElementsAre("h0"));
}

TEST(GoodGroup, MissingRoutesOfAPairLeaveNoHostOut) {
  Row routes = failed("h0 to h2");
  routes.check = "routes";
  EXPECT_THAT(good_group(small_fabric(), {routes}).left_out, IsEmpty());
}

TEST(GoodGroup, KnowsWhetherLinksThatAreLeftOutStillCarryPackets) {
  Row down = failed("leaf0 - spine1");
  down.check = "link state";
  EXPECT_FALSE(good_group(small_fabric(), {down}).links_carry);
  EXPECT_TRUE(good_group(small_fabric(), {failed("leaf0 - spine1")}).links_carry);
  EXPECT_FALSE(good_group(small_fabric(), {failed("h0")}).links_carry);
}

TEST(GoodGroup, HostsThatAreCutOffAreLeftOutToo) {
  const GoodGroup group = good_group(
      small_fabric(), {failed("h3"), failed("leaf1 - spine0"), failed("leaf1 - spine1")});
  EXPECT_THAT(group.hosts, ElementsAre(0, 1));
  EXPECT_THAT(places_of(group), ElementsAre("h3", "leaf1 - spine0", "leaf1 - spine1", "h2"));
}

TEST(GoodGroup, APartKeepsWhereItsHostsAndLinksWere) {
  const topology::Topology whole = small_fabric();
  const PartOfTopology part = part_of(whole, good_group(whole, {failed("h1")}));
  ASSERT_TRUE(topology::validate(part.topology));
  EXPECT_THAT(part.hosts, ElementsAre(0, 2, 3));
  ASSERT_EQ(part.links.size(), part.topology.links.size());
  for (size_t i = 0; i < part.links.size(); ++i) {
    const topology::Link& link = part.topology.links[i];
    const topology::Link& was = whole.links[part.links[i]];
    EXPECT_EQ(topology::node_name(part.topology, link.a), topology::node_name(whole, was.a));
    EXPECT_EQ(topology::node_name(part.topology, link.b), topology::node_name(whole, was.b));
  }
}

TEST(GoodGroup, RowsWithoutAPlaceLeaveNothingOut) {
  EXPECT_THAT(
      good_group(small_fabric(), {failed("4 flows"), failed("64 KiB"), failed("")}).left_out,
      IsEmpty());
}

}  // namespace
}  // namespace heddle::acceptance
