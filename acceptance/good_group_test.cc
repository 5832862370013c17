// Good groups of a small fabric, by rows as the stages write them.
#include "acceptance/good_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "acceptance/fabric_bounds.h"
#include "acceptance/params.h"
#include "topology/generators.h"

namespace heddle::acceptance {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Hosts h0 and h1 on leaf0, h2 and h3 on leaf1; two spines.
constexpr topology::LeafSpineShape kSmall = {.leaves = 2, .spines = 2, .hosts_per_leaf = 2};

topology::Topology small_fabric() { return topology::leaf_spine(kSmall); }

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

TEST(GoodGroup, OfParallelLinksTheNamedOneIsLeftOut) {
  topology::Topology fabric = small_fabric();
  const uint32_t first = topology::leaf_spine_link(kSmall, 0, 0);
  fabric.links.push_back(fabric.links[first]);
  for (const char* const where :
       {"leaf0 - spine0 #1", "leaf0 to spine0 #1", "spine0 to leaf0 #1"}) {
    const GoodGroup group = good_group(fabric, {failed(where)});
    EXPECT_THAT(group.links, ElementsAre(fabric.links.size() - 1)) << where;
    EXPECT_THAT(places_of(group), ElementsAre("leaf0 - spine0 #1"));
  }
  EXPECT_THAT(good_group(fabric, {failed("leaf0 to spine0")}).links, ElementsAre(first));
}

TEST(GoodGroup, OfPairsTheHostInMostOfThemIsLeftOut) {
  const GoodGroup group = good_group(small_fabric(), {failed("h0 to h1"), failed("h0 to h2"),
                                                      failed("h3 to h0"), failed("h2 to h0")});
  EXPECT_THAT(group.hosts, ElementsAre(1, 2, 3));
  EXPECT_THAT(places_of(group), ElementsAre("h0"));
}

// A report that a test goes on with may name one.
TEST(GoodGroup, APairOfAHostWithItselfLeavesNoHostOut) {
  EXPECT_THAT(good_group(small_fabric(), {failed("h0 to h0")}).left_out, IsEmpty());
}

TEST(GoodGroup, MissingRoutesOfAPairLeaveNoHostOut) {
  Row routes = failed("h0 to h2");
  routes.check = "routes";
  EXPECT_THAT(good_group(small_fabric(), {routes}).left_out, IsEmpty());
}

// Beside a slow link a host was left out whose pairs all took it.
TEST(GoodGroup, PairsThatALeftOutLinkExplainsLeaveNoHostOut) {
  const std::vector<Row> rows = {failed("h0 to h2"), failed("h0 to h3"), failed("leaf1 to spine1")};
  const GoodGroup group = good_group(small_fabric(), rows);
  EXPECT_THAT(places_of(group), ElementsAre("leaf1 - spine1"));
  EXPECT_THAT(group.hosts, ElementsAre(0, 1, 2, 3));
  // One below the same leaf does not take it.
  EXPECT_THAT(good_group(small_fabric(), {rows[2], failed("h0 to h1")}).hosts, testing::SizeIs(3));
}

// The second NICs' leaves are others.
TEST(GoodGroup, PairsOverFurtherNicsThatALeftOutLinkExplainsLeaveNoHostOut) {
  topology::LeafSpineShape shape{.leaves = 4, .spines = 2, .hosts_per_leaf = 1, .nics_per_host = 2};
  shape.rails = true;
  const topology::Topology rails = topology::leaf_spine(shape);
  Row pair = failed("h0 to h1");
  pair.check = "goodput of NIC";
  EXPECT_THAT(good_group(rails, {pair, failed("leaf1 to spine0")}).hosts, ElementsAre(0, 1));
  EXPECT_THAT(good_group(rails, {pair, failed("leaf0 to spine0")}).hosts, SizeIs(1));
  EXPECT_THAT(good_group(rails, {failed("h0 to h1"), failed("leaf1 to spine0")}).hosts, SizeIs(1));
}

TEST(GoodGroup, APairThatFailsWithoutTheLinkTooLeavesAHostOut) {
  const std::vector<Row> rows = {failed("h0 to h2"), failed("leaf1 to spine1")};
  const auto test = [](const GoodGroup& group) -> Result<std::vector<Row>> {
    if (group.hosts.size() < 4) return std::vector<Row>();
    return std::vector<Row>{failed("h0 to h2")};
  };
  const Result<ProvedGroup> proved = prove_group(small_fabric(), rows, test);
  ASSERT_TRUE(proved);
  EXPECT_TRUE(proved->works);
  EXPECT_EQ(proved->group.hosts.size(), 3U);
  EXPECT_EQ(proved->tried.size(), 1U);
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

// Pairs of eight hosts in which the host in most pairs is not among the fewest that cover them.
TEST(GoodGroup, OfPairsAsFewHostsAsPossibleAreLeftOut) {
  const topology::Topology eight =
      topology::leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 4});
  const GoodGroup group =
      good_group(eight, {failed("h0 to h1"), failed("h0 to h2"), failed("h0 to h3"),
                         failed("h1 to h4"), failed("h2 to h5"), failed("h3 to h6")});
  EXPECT_THAT(group.hosts, ElementsAre(0, 4, 5, 6, 7));
  EXPECT_TRUE(group.largest);
}

// More hosts than are searched exactly, each in a pair of its own.
TEST(GoodGroup, OfVeryManyPairsItIsNotSaidToBeTheLargest) {
  const topology::Topology many =
      topology::leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 16});
  std::vector<Row> rows;
  for (int host = 0; host < 32; host += 2) {
    rows.push_back(failed("h" + std::to_string(host) + " to h" + std::to_string(host + 1)));
  }
  const GoodGroup group = good_group(many, rows);
  EXPECT_EQ(group.hosts.size(), 16U);
  EXPECT_FALSE(group.largest);
}

// A fabric of which a test finds the first fault alone while the host that has it is there.
class HiddenFaults {
 public:
  HiddenFaults(const topology::Topology& fabric, std::vector<std::string> faults)
      : fabric_(fabric), faults_(std::move(faults)) {}

  Result<std::vector<Row>> operator()(const GoodGroup& group) {
    ++tests;
    for (const std::string& fault : faults_) {
      for (const uint32_t host : group.hosts) {
        if (fabric_.hosts[host].name == fault) return std::vector<Row>{failed(fault)};
      }
    }
    return std::vector<Row>{{"reach", "2 pairs", "answered", "all"}};
  }

  int tests = 0;

 private:
  const topology::Topology& fabric_;
  std::vector<std::string> faults_;
};

TEST(GoodGroup, AFaultThatShowsOnlyWithoutTheFirstIsLeftOutToo) {
  const topology::Topology fabric = small_fabric();
  HiddenFaults test(fabric, {"h2"});
  const auto proved = prove_group(fabric, {failed("h0")}, std::ref(test));
  ASSERT_TRUE(proved);
  EXPECT_TRUE(proved->works);
  EXPECT_EQ(test.tests, 2);
  EXPECT_THAT(proved->group.hosts, ElementsAre(1, 3));
  EXPECT_THAT(places_of(proved->group), ElementsAre("h0", "h2"));
  ASSERT_EQ(proved->tried.size(), 1U);
  EXPECT_THAT(proved->tried.front().hosts, ElementsAre(1, 2, 3));
}

TEST(GoodGroup, AHostComesBackWhereALaterPairShowsThatAnotherWasTheFault) {
  const topology::Topology fabric = small_fabric();
  const auto test = [](const GoodGroup& group) -> Result<std::vector<Row>> {
    const bool has_h1 = std::count(group.hosts.begin(), group.hosts.end(), 1U) > 0;
    if (!has_h1) return std::vector<Row>{};
    return std::vector<Row>{failed("h1 to h2"), failed("h3 to h1")};
  };
  const auto proved = prove_group(fabric, {failed("h0 to h1")}, test);
  ASSERT_TRUE(proved);
  EXPECT_TRUE(proved->works);
  EXPECT_THAT(proved->group.hosts, ElementsAre(0, 2, 3));
}

TEST(GoodGroup, IsTestedNoMoreWhereNothingElseIsNamedOrFewerThanTwoHostsAreLeft) {
  const topology::Topology fabric = small_fabric();
  int tests = 0;
  const auto nameless = [&tests](const GoodGroup&) -> Result<std::vector<Row>> {
    ++tests;
    return std::vector<Row>{failed("64 KiB")};
  };
  auto proved = prove_group(fabric, {failed("h0")}, nameless);
  ASSERT_TRUE(proved);
  EXPECT_FALSE(proved->works);
  EXPECT_EQ(tests, 1);
  HiddenFaults all(fabric, {"h1", "h2", "h3"});
  proved = prove_group(fabric, {failed("h0")}, std::ref(all));
  ASSERT_TRUE(proved);
  EXPECT_FALSE(proved->works);
  EXPECT_THAT(proved->group.hosts, ElementsAre(2, 3));
}

TEST(GoodGroup, IsMadeSmallerThreeTimesAtMost) {
  const topology::Topology eight =
      topology::leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 4});
  HiddenFaults test(eight, {"h1", "h2", "h3", "h4", "h5"});
  const auto proved = prove_group(eight, {failed("h0")}, std::ref(test));
  ASSERT_TRUE(proved);
  EXPECT_FALSE(proved->works);
  EXPECT_EQ(test.tests, 1 + params::kMostRegroupings);
  EXPECT_THAT(proved->group.hosts, ElementsAre(4, 5, 6, 7));
}

TEST(GoodGroup, RowsWithoutAPlaceLeaveNothingOut) {
  EXPECT_THAT(
      good_group(small_fabric(), {failed("4 flows"), failed("64 KiB"), failed("")}).left_out,
      IsEmpty());
}

}  // namespace
}  // namespace heddle::acceptance
