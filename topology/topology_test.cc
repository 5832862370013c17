// Generators make the documented numbering, and validation names contradictions.
#include "topology/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "topology/generators.h"

namespace heddle::topology {
namespace {

using testing::HasSubstr;

std::string why_invalid(const Topology& topology) {
  const Result<void> result = validate(topology);
  return result ? "" : result.error().message();
}

TEST(Generators, PointToPointHasTwoHostsAndACable) {
  const Topology topology = point_to_point({.rate = gigabits_per_s(10)});
  EXPECT_EQ(why_invalid(topology), "");
  EXPECT_EQ(topology.hosts.size(), 2u);
  ASSERT_EQ(topology.links.size(), 1u);
  EXPECT_EQ(topology.links[0].shape.rate, gigabits_per_s(10));
}

TEST(Generators, ParallelPathsShareTheirEnds) {
  const Topology topology = parallel_paths(5, {}, {.delay = micros(7)});
  EXPECT_EQ(why_invalid(topology), "");
  ASSERT_EQ(topology.links.size(), 7u);
  for (size_t i = 2; i < 7; ++i) {
    EXPECT_EQ(topology.links[i].a, (Node{NodeKind::kSwitch, 0}));
    EXPECT_EQ(topology.links[i].b, (Node{NodeKind::kSwitch, 1}));
    EXPECT_EQ(topology.links[i].shape.delay, micros(7));
  }
}

TEST(Generators, LeafSpineJoinsEveryLeafToEverySpineOnce) {
  const LeafSpineShape shape{.leaves = 3, .spines = 4, .hosts_per_leaf = 2};
  const Topology topology = leaf_spine(shape);
  EXPECT_EQ(why_invalid(topology), "");
  EXPECT_EQ(topology.hosts.size(), 6u);
  EXPECT_EQ(topology.links.size(), 6u + 12u);
  EXPECT_EQ(topology.links[5].b, (Node{NodeKind::kSwitch, 2}));
  std::set<uint32_t> links;
  for (uint32_t leaf = 0; leaf < 3; ++leaf) {
    for (uint32_t spine = 0; spine < 4; ++spine) {
      const uint32_t link = leaf_spine_link(shape, leaf, spine);
      EXPECT_EQ(topology.links[link].a.index, leaf);
      EXPECT_EQ(topology.links[link].b.index, 3 + spine);
      links.insert(link);
    }
  }
  EXPECT_EQ(links.size(), 12u);
  std::set<uint64_t> seeds;
  for (const Switch& each : topology.switches) seeds.insert(each.hash_seed);
  EXPECT_EQ(seeds.size(), 7u) << "equal seeds would polarise";
}

TEST(Generators, FatTreeHasThreeTiers) {
  const Topology topology = fat_tree({});
  EXPECT_EQ(why_invalid(topology), "");
  EXPECT_EQ(topology.hosts.size(), 16u);
  ASSERT_EQ(topology.switches.size(), 20u);
  ASSERT_EQ(topology.links.size(), 48u);
  std::vector<uint32_t> links(20);
  for (const Link& link : topology.links) {
    if (link.a.kind == NodeKind::kSwitch) ++links[link.a.index];
    ++links[link.b.index];
  }
  for (const uint32_t count : links) EXPECT_EQ(count, 4u) << "every switch has four ports";
  EXPECT_EQ(topology.switches[8].name, "spine0");
  EXPECT_EQ(topology.switches[19].name, "core3");
  // Spine 1 of the first pod, and the second of its cores.
  EXPECT_EQ(topology.links[16 + 16 + 3].a.index, 9u);
  EXPECT_EQ(topology.links[16 + 16 + 3].b.index, 19u);
}

TEST(Generators, RailsAndSeveralNicsKeepTheirNumbering) {
  const LeafSpineShape shape{
      .leaves = 4, .spines = 2, .hosts_per_leaf = 3, .nics_per_host = 2, .rails = true};
  const Topology topology = leaf_spine(shape);
  EXPECT_EQ(why_invalid(topology), "");
  EXPECT_EQ(topology.hosts.size(), 6u);
  EXPECT_EQ(topology.nics.size(), 12u);
  EXPECT_EQ(topology.links[7].b.index, 3u) << "the second NIC of h3";
  EXPECT_EQ(topology.links[leaf_spine_link(shape, 0, 0)].a.index, 0u);
  EXPECT_EQ(topology.links[leaf_spine_link(shape, 3, 1)].b.index, 5u);
  EXPECT_EQ(nic_number(topology, 7), 1u);
}

TEST(Validate, NamesTheFirstContradiction) {
  const Topology good = parallel_paths(2, {}, {});
  Topology bad = good;
  bad.links[3].b.index = 9;
  EXPECT_THAT(why_invalid(bad), HasSubstr("link 3: it leads to a node that does not exist"));
  bad = good;
  bad.links[2].b = bad.links[2].a;
  EXPECT_THAT(why_invalid(bad), HasSubstr("to itself"));
  bad = good;
  bad.links[2].shape.mtu_bytes = 500;
  EXPECT_THAT(why_invalid(bad), HasSubstr("MTU"));
  bad = good;
  bad.links[2].shape.queue = {9'000};
  EXPECT_THAT(why_invalid(bad), HasSubstr("queue"));
  bad = good;
  bad.links[2].backward.loss_per_million = 1'000'001;
  EXPECT_THAT(why_invalid(bad), HasSubstr("faults"));
  bad = good;
  bad.links[0].forward.reorder_min = micros(2);
  EXPECT_THAT(why_invalid(bad), HasSubstr("faults"));
  bad = good;
  bad.links.push_back(bad.links[0]);
  EXPECT_THAT(why_invalid(bad), HasSubstr("NIC 0: it has 2 links"));
  bad = good;
  bad.nics[1].host = 2;
  EXPECT_THAT(why_invalid(bad), HasSubstr("NIC 1: it is in a host that does not exist"));
  bad = good;
  bad.changes.push_back({.at = millis(1), .link = 4});
  EXPECT_THAT(why_invalid(bad), HasSubstr("change 0"));
}

}  // namespace
}  // namespace heddle::topology
