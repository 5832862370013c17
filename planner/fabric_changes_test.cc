// Changed fabrics are valid, and differ in what the change says alone.
#include "planner/fabric_changes.h"

#include <gtest/gtest.h>

#include "topology/generators.h"

namespace heddle::planner {
namespace {

topology::Topology fabric(uint64_t megabits) {
  topology::LeafSpineShape shape{.leaves = 2, .spines = 3, .hosts_per_leaf = 4};
  shape.host_link.rate = BitsPerSec{megabits * 1'000'000};
  shape.spine_link.rate = shape.host_link.rate;
  return topology::leaf_spine(shape);
}

TEST(FabricChanges, FasterLinksAreOfTheKindAsked) {
  const topology::Topology before = fabric(10'000);
  for (const WhichLinks which : {WhichLinks::kHosts, WhichLinks::kSwitches, WhichLinks::kAll}) {
    const topology::Topology after = faster(before, which, 2);
    ASSERT_TRUE(topology::validate(after).has_value());
    for (size_t i = 0; i < before.links.size(); ++i) {
      const bool between = between_switches(before.links[i]);
      const bool changed = which == WhichLinks::kAll || between == (which == WhichLinks::kSwitches);
      const uint64_t factor = changed ? 2 : 1;
      EXPECT_EQ(after.links[i].shape.rate.count, factor * before.links[i].shape.rate.count);
      EXPECT_EQ(after.links[i].shape.queue.count, factor * before.links[i].shape.queue.count);
      EXPECT_EQ(after.links[i].shape.ecn_threshold.count, UINT64_MAX);
    }
  }
}

TEST(FabricChanges, OneSwitchHasEveryNicWithItsLink) {
  topology::Topology before = fabric(10'000);
  before.links[3].shape.rate = gigabits_per_s(5);
  before.links[3].forward.loss_per_million = 1'000;
  const topology::Topology after = on_one_switch(before);
  ASSERT_TRUE(topology::validate(after).has_value());
  EXPECT_EQ(after.hosts.size(), before.hosts.size());
  ASSERT_EQ(after.links.size(), before.nics.size());
  EXPECT_EQ(after.switches.size(), 1U);
  EXPECT_EQ(after.links[3].shape.rate.count, gigabits_per_s(5).count);
  EXPECT_EQ(after.links[3].forward.loss_per_million, 0U);
}

TEST(FabricChanges, ACableBetweenTwoHostsBecomesTwoLinksOfTheSwitch) {
  const topology::Topology after = on_one_switch(topology::point_to_point({}));
  ASSERT_TRUE(topology::validate(after).has_value());
  EXPECT_EQ(after.links.size(), 2U);
}

// Twice the rate needs twice the headroom: a full lossless switch was not valid any more.
TEST(FabricChanges, FasterLosslessSwitchesKeepTheirMicroseconds) {
  topology::Topology before = lossless(fabric(10'000));
  for (topology::Switch& each : before.switches) {
    each.shape.xoff = Bytes{each.shape.buffer.count / 16};
  }
  ASSERT_TRUE(topology::validate(before).has_value());
  for (const WhichLinks which : {WhichLinks::kHosts, WhichLinks::kSwitches, WhichLinks::kAll}) {
    const Result<void> valid = topology::validate(faster(before, which, 2));
    EXPECT_TRUE(valid.has_value()) << valid.error().why;
  }
}

TEST(FabricChanges, LosslessFabricsAreValidAtEveryRate) {
  for (const uint64_t megabits : {10, 1'000, 100'000, 800'000}) {
    const topology::Topology after = lossless(fabric(megabits));
    const Result<void> valid = topology::validate(after);
    ASSERT_TRUE(valid.has_value()) << megabits << ": " << valid.error().why;
    for (const topology::Switch& each : after.switches) EXPECT_TRUE(each.shape.lossless);
  }
  const topology::LinkShape marked = lossless(fabric(100'000)).links[0].shape;
  EXPECT_EQ(marked.ecn_threshold.count, 12'500U);
  EXPECT_EQ(marked.ecn_ramp.count, 487'500U);
}

}  // namespace
}  // namespace heddle::planner
