// A plan that is kept through changes: its loads are those of its paths by the hash, flows that a
// change does not concern keep their paths, and it is as good as a plan after the one from before.
#include "planner/live_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "base/random.h"
#include "planner/path_replan.h"
#include "planner/plan_routes.h"
#include "topology/generators.h"
#include "topology/workload_patterns.h"

namespace heddle::planner {
namespace {

constexpr uint16_t kPaths = 64;

Demand permutation(const topology::Topology& topology, uint64_t seed) {
  topology::Workload workload;
  Random random(seed);
  std::vector<uint32_t> hosts(topology.hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  topology::add_permutation(workload, hosts, {.bytes = mebibytes(1), .start = {}}, random);
  return demand_of_flows(workload, topology);
}

topology::Topology two_tiers(uint64_t seed) {
  return topology::leaf_spine(
      {.leaves = 8, .spines = 8, .hosts_per_leaf = 8, .hash_seed = seed, .bundle = 1});
}

topology::Topology rails(uint64_t seed) {
  return topology::leaf_spine({.leaves = 8,
                               .spines = 4,
                               .hosts_per_leaf = 4,
                               .hash_seed = seed,
                               .nics_per_host = 4,
                               .rails = true});
}

topology::Topology three_tiers(uint64_t seed) {
  return topology::fat_tree({.pods = 4, .hosts_per_leaf = 4, .hash_seed = seed, .leaf_bundle = 2});
}

// A live plan beside its fabric, which is changed alike and asked anew each time.
class Changes {
 public:
  Changes(topology::Topology topology, uint64_t seed)
      : topology_(std::move(topology)), planned_on_(topology_), random_(seed) {
    Result<std::unique_ptr<LivePlan>> live =
        LivePlan::make(planned_on_, permutation(topology_, seed), {.paths = kPaths});
    EXPECT_TRUE(live.has_value());
    live_ = std::move(*live);
    demand_ = permutation(topology_, seed);
    check({}, {});
  }

  void change() {
    const std::vector<PlannedFlow> before = live_->flows();
    const auto cable = static_cast<uint32_t>(random_.below(topology_.links.size()));
    const auto host = static_cast<uint32_t>(topology_.hosts.size());
    switch (random_.below(6)) {
      case 0:
      case 1:
        failed_.insert(cable);
        return check(before, live_->set_down(cable, true));
      case 2: {
        const uint32_t back = failed_.empty() ? cable : *failed_.begin();
        failed_.erase(back);
        return check(before, live_->set_down(back, false));
      }
      case 3: {
        const BitsPerSec rate{topology_.links[cable].shape.rate.count / 4 * (1 + random_.below(8))};
        topology_.links[cable].shape.rate = rate;
        return check(before, live_->set_rate(cable, rate));
      }
      case 4: {
        const auto from = static_cast<uint32_t>(random_.below(host));
        const FlowDemand flow{from,
                              (from + 1 + static_cast<uint32_t>(random_.below(host - 1))) % host,
                              500'000 + random_.below(1'000'000)};
        const Replanned replanned = live_->add_flow(flow);
        EXPECT_LE(replanned.moved.size(), 1U);
        demand_.flows.resize(std::max<size_t>(demand_.flows.size(), replanned.begun + 1));
        demand_.flows[replanned.begun] = flow;
        ended_.erase(replanned.begun);
        return check(before, replanned);
      }
      default: {
        const auto flow = static_cast<uint32_t>(random_.below(live_->flows().size()));
        const Replanned replanned = live_->remove_flow(flow);
        EXPECT_TRUE(live_->flows()[flow].paths.empty());
        ended_.insert(flow);
        return check(before, replanned);
      }
    }
  }

 private:
  bool moved(const Replanned& replanned, uint32_t flow) const {
    return std::binary_search(replanned.moved.begin(), replanned.moved.end(), flow);
  }

  void check(const std::vector<PlannedFlow>& before, const Replanned& replanned) {
    const std::vector<PlannedFlow>& flows = live_->flows();
    ASSERT_EQ(flows.size(), demand_.flows.size());
    for (uint32_t i = 0; i < flows.size(); ++i) {
      uint32_t sum = 0;
      for (const PlannedPath& each : flows[i].paths) sum += each.share_per_million;
      EXPECT_TRUE(sum == 1'000'000 || flows[i].paths.empty());
      if (i < before.size() && !moved(replanned, i) && !ended_.contains(i)) {
        EXPECT_EQ(flows[i].paths, before[i].paths);
      }
    }
    const std::vector<uint32_t> failed(failed_.begin(), failed_.end());
    const std::vector<double> loads = PlanRoutes({topology_, demand_, kPaths, failed}).loads(flows);
    const Fabric fabric(topology_, failed);
    LongestTimes longest;
    for (LinkId link = 0; link < loads.size(); ++link) {
      ASSERT_NEAR(loads[link], live_->loads()[link], 1e-3) << "link " << link;
      double& of_kind =
          fabric.is_between_switches(link) ? longest.between_switches : longest.of_nics;
      of_kind = std::max(of_kind, loads[link] / fabric.rate(link));
    }
    EXPECT_NEAR(live_->planned().between_switches, longest.between_switches, 1e-3);
    EXPECT_NEAR(live_->planned().of_nics, longest.of_nics, 1e-3);
    expect_reached(fabric, failed);
  }

  // A flow has paths where one of them has a route, and all of its paths have one.
  void expect_reached(const Fabric& fabric, const std::vector<uint32_t>& failed) {
    Fabric routes(topology_, failed);
    for (uint32_t i = 0; i < demand_.flows.size(); ++i) {
      if (ended_.contains(i)) continue;
      const FlowDemand& flow = demand_.flows[i];
      const uint32_t lanes = lanes_of(fabric, flow.from, flow.to, kPaths);
      Route route;
      bool reached = false;
      for (uint16_t path = 0; path < kPaths; ++path) {
        reached |= routes.route(key_of(fabric, demand_, flow, path % lanes, path), route);
      }
      EXPECT_EQ(!live_->flows()[i].paths.empty(), reached) << "flow " << i;
      for (const PlannedPath& each : live_->flows()[i].paths) {
        EXPECT_TRUE(
            routes.route(key_of(fabric, demand_, flow, each.path % lanes, each.path), route));
      }
    }
  }

  topology::Topology topology_;
  const topology::Topology planned_on_;
  Random random_;
  std::unique_ptr<LivePlan> live_;
  Demand demand_;
  std::set<uint32_t> failed_;
  std::set<uint32_t> ended_;
};

TEST(LivePlan, IsWhatItsPathsMakeAfterAnyChangesOfTwoTiers) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Changes changes(two_tiers(seed), seed);
    for (int i = 0; i < 40 && !testing::Test::HasFailure(); ++i) changes.change();
  }
}

TEST(LivePlan, IsWhatItsPathsMakeAfterAnyChangesOfRails) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Changes changes(rails(seed), seed);
    for (int i = 0; i < 40 && !testing::Test::HasFailure(); ++i) changes.change();
  }
}

TEST(LivePlan, IsWhatItsPathsMakeAfterAnyChangesOfThreeTiers) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Changes changes(three_tiers(seed), seed);
    for (int i = 0; i < 40 && !testing::Test::HasFailure(); ++i) changes.change();
  }
}

struct Compared {
  double live = 0;
  double after = 0;  // the plan after the earlier one, from files
  double whole = 0;  // all flows planned again
};

Compared compare(const topology::Topology& topology, uint32_t cable, uint64_t seed) {
  const Demand demand = permutation(topology, seed);
  PathPlanOptions options{.paths = kPaths};
  const Result<std::unique_ptr<LivePlan>> live = LivePlan::make(topology, demand, options);
  EarlierPlan earlier;
  for (const PlannedFlow& flow : (*live)->flows()) {
    earlier.paths[{flow.demand.from, flow.demand.to}] = flow.paths;
  }
  options.failed_links = {cable};
  const Result<PathPlan> after = replan_paths(topology, demand, options, earlier);
  const Result<PathPlan> whole = plan_paths(topology, demand, options);
  const Replanned replanned = (*live)->set_down(cable, true);
  EXPECT_GE(demand.flows.size() - replanned.moved.size(), after->kept);
  EXPECT_EQ(replanned.unreachable, 0U);
  return {replanned.planned.between_switches, after->planned.between_switches,
          whole->planned.between_switches};
}

TEST(LivePlan, IsAsGoodAfterAFailureAsAPlanAfterTheEarlierOne) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const topology::LeafSpineShape shape{
        .leaves = 16, .spines = 8, .hosts_per_leaf = 8, .hash_seed = seed};
    const Compared times = compare(topology::leaf_spine(shape),
                                   topology::leaf_spine_link(shape, seed % 16, seed % 8), seed);
    EXPECT_LE(times.live, times.after * 1.001) << "seed " << seed;
    EXPECT_LE(times.live, times.whole * 1.5) << "seed " << seed;
  }
}

// Fewer lanes move than with replan_paths(), which moves all lanes of a flow.
TEST(LivePlan, IsAboutAsGoodOnRailsAndThreeTiers) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const topology::Topology on_rails = rails(seed);
    const auto uplink = static_cast<uint32_t>(on_rails.nics.size() + seed);
    const Compared times = compare(on_rails, uplink, seed);
    EXPECT_LE(times.live, times.after * 1.05) << "rails, seed " << seed;
    const topology::Topology tree = three_tiers(seed);
    const Compared of_tree = compare(tree, static_cast<uint32_t>(tree.nics.size() + seed), seed);
    EXPECT_LE(of_tree.live, of_tree.after * 1.05) << "three tiers, seed " << seed;
  }
}

TEST(LivePlan, MovesOnlyLanesOfTheLeafThatLostAnUplink) {
  const topology::LeafSpineShape shape{.leaves = 16, .spines = 8, .hosts_per_leaf = 8};
  const topology::Topology topology = topology::leaf_spine(shape);
  const Result<std::unique_ptr<LivePlan>> live =
      LivePlan::make(topology, permutation(topology, 1), {});
  ASSERT_TRUE(live.has_value());
  const Replanned replanned = (*live)->set_down(topology::leaf_spine_link(shape, 3, 2), true);
  EXPECT_FALSE(replanned.moved.empty());
  for (const uint32_t flow : replanned.moved) {
    const FlowDemand& its = (*live)->flows()[flow].demand;
    EXPECT_TRUE((its.from / 8 == 3) != (its.to / 8 == 3)) << "flow " << flow;
  }
  EXPECT_LE(replanned.considered, 16U);
}

TEST(LivePlan, ReturnsToTheBoundWhenTheCableWorksAgain) {
  const topology::LeafSpineShape shape{.leaves = 16, .spines = 8, .hosts_per_leaf = 8};
  const topology::Topology topology = topology::leaf_spine(shape);
  const Result<std::unique_ptr<LivePlan>> live =
      LivePlan::make(topology, permutation(topology, 1), {});
  ASSERT_TRUE(live.has_value());
  const double before = (*live)->planned().between_switches;
  for (int i = 0; i < 5; ++i) {
    const Replanned down = (*live)->set_down(topology::leaf_spine_link(shape, 3, 2), true);
    EXPECT_GT(down.planned.between_switches, before);
    const Replanned up = (*live)->set_down(topology::leaf_spine_link(shape, 3, 2), false);
    EXPECT_LE(up.planned.between_switches, before * 1.05) << i;
  }
}

TEST(LivePlan, LeavesAlinkThatBecameSlow) {
  const topology::LeafSpineShape shape{.leaves = 4, .spines = 4, .hosts_per_leaf = 2};
  const topology::Topology topology = topology::leaf_spine(shape);
  const Result<std::unique_ptr<LivePlan>> live =
      LivePlan::make(topology, permutation(topology, 1), {});
  ASSERT_TRUE(live.has_value());
  std::optional<uint32_t> used;
  for (LinkId link = 0; link < (*live)->loads().size(); ++link) {
    if (link / 2 >= topology.nics.size() && (*live)->loads()[link] > 0) used = link;
  }
  ASSERT_TRUE(used.has_value());
  const BitsPerSec whole = topology.links[*used / 2].shape.rate;
  const Replanned slow = (*live)->set_rate(*used / 2, BitsPerSec{whole.count / 100});
  EXPECT_FALSE(slow.moved.empty());
  EXPECT_LE(slow.planned.between_switches, slow.planned.of_nics * 2.01);
  // The same rate again: nothing would be faster.
  EXPECT_TRUE((*live)->set_rate(*used / 2, BitsPerSec{whole.count / 100}).moved.empty());
}

TEST(LivePlan, FlowsThatComeAndGoTakeNoMoreMemoryThanThoseThatAreThereAtOnce) {
  const topology::Topology topology = two_tiers(1);
  Demand demand = demand_of_flows({}, topology);
  demand.flows = {{0, 9, 1'000'000}};
  const auto live = std::move(*LivePlan::make(topology, demand, {}));
  for (uint32_t i = 0; i < 300; ++i) {
    const uint32_t one = live->add_flow({1, 9, 1'000'000}).begun;
    const uint32_t other = live->add_flow({2, 9, 1'000'000}).begun;
    EXPECT_NE(one, other);
    EXPECT_FALSE(live->flows()[one].paths.empty());
    live->remove_flow(one);
    live->remove_flow(other);
    live->remove_flow(one);  // has ended already
  }
  EXPECT_EQ(live->flows().size(), 3U);
}

TEST(LivePlan, RefusesWhatPlansRefuse) {
  const topology::Topology topology = two_tiers(1);
  EXPECT_FALSE(LivePlan::make(topology, demand_of_flows({}, topology), {}).has_value());
}

}  // namespace
}  // namespace heddle::planner
