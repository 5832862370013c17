// Plans on random fabrics and demands: shares are whole, loads are what routes make them, never
// above ECMP's, and near the lower bound.
#include "planner/path_plan.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "base/random.h"
#include "planner/paths/loads.h"
#include "planner/shared_fabric.h"
#include "topology/generators.h"
#include "topology/workload_patterns.h"

namespace heddle::planner {
namespace {

topology::Topology clos(uint32_t leaves, uint32_t spines, uint32_t hosts, uint64_t seed) {
  return topology::leaf_spine(
      {.leaves = leaves, .spines = spines, .hosts_per_leaf = hosts, .hash_seed = seed});
}

// Host i sends to the host with its number on the next leaf: all flows cross spines.
Demand ring_of_leaves(const topology::Topology& topology, uint32_t hosts_per_leaf) {
  topology::Workload workload;
  const auto hosts = static_cast<uint32_t>(topology.hosts.size());
  for (uint32_t i = 0; i < hosts; ++i) {
    workload.flows.push_back(
        {.id = i, .from = i, .to = (i + hosts_per_leaf) % hosts, .bytes = mebibytes(1)});
  }
  return demand_of_flows(workload, topology);
}

Demand permutation(const topology::Topology& topology, uint64_t seed) {
  topology::Workload workload;
  Random random(seed);
  std::vector<uint32_t> hosts(topology.hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  topology::add_permutation(workload, hosts, {.bytes = mebibytes(1), .start = {}}, random);
  return demand_of_flows(workload, topology);
}

void expect_consistent(const topology::Topology& topology, const Demand& demand,
                       const PathPlanOptions& options, const PathPlan& plan) {
  Fabric fabric(topology, options.failed_links);
  Loads loads(fabric, demand.background);
  ASSERT_EQ(plan.flows.size(), demand.flows.size());
  for (const PlannedFlow& flow : plan.flows) {
    uint32_t sum = 0;
    for (const PlannedPath& path : flow.paths) {
      sum += path.share_per_million;
      const uint32_t lanes = lanes_of(fabric, demand.endpoints[flow.demand.from].host,
                                      demand.endpoints[flow.demand.to].host, options.paths);
      Route route;
      ASSERT_TRUE(
          fabric.route(key_of(fabric, demand, flow.demand, path.path % lanes, path.path), route));
      loads.add(route, static_cast<double>(flow.demand.bytes) * path.share_per_million * 1e-6);
    }
    EXPECT_EQ(sum, 1'000'000U);
  }
  EXPECT_NEAR(loads.longest_between(), plan.planned.between_switches,
              plan.planned.between_switches * 1e-4);
  EXPECT_NEAR(loads.longest_of_nics(), plan.planned.of_nics, plan.planned.of_nics * 1e-4);
  EXPECT_LE(plan.planned.longest(), plan.ecmp.longest() * 1.0001);
  EXPECT_GE(plan.planned.between_switches, plan.bound_between * 0.9999);
}

// Eight jobs, each a ring of one host a leaf in an order of its own.
std::vector<Demand> rings_of_leaves(const topology::Topology& topology, uint64_t seed) {
  constexpr uint32_t kLeaves = 8;
  Random random(seed);
  std::vector<Demand> rings;
  for (uint32_t number = 0; number < 8; ++number) {
    std::vector<uint32_t> order(kLeaves);
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = kLeaves; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    topology::Workload workload;
    for (uint32_t i = 0; i < kLeaves; ++i) {
      workload.flows.push_back({.id = i,
                                .from = order[i] * 8 + number,
                                .to = order[(i + 1) % kLeaves] * 8 + number,
                                .bytes = mebibytes(1)});
    }
    rings.push_back(demand_of_flows(workload, topology));
  }
  return rings;
}

TEST(PathPlan, JobsThatArePlannedOneAfterAnotherShareAFullClosAsOnePlanDoes) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const topology::Topology topology = clos(8, 8, 8, seed);
    std::vector<double> others;
    for (Demand& ring : rings_of_leaves(topology, seed)) {
      ring.background = others;
      const Result<PathPlan> plan = plan_paths(topology, ring, {});
      ASSERT_TRUE(plan.has_value());
      EXPECT_LE(plan->planned.between_switches, plan->planned.of_nics * 1.0001) << seed;
      const std::vector<double> loads = loads_of_plan(topology, ring, *plan, {});
      others.resize(loads.size());
      for (size_t i = 0; i < loads.size(); ++i) others[i] += loads[i];
    }
  }
}

// Barriers beside gradients: few bytes, among many pairs of hosts.
TEST(PathPlan, SmallFlowsDoNotKeepLargeOnesFromAColoring) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const topology::Topology topology = clos(8, 8, 8, seed);
    Demand demand = demand_of_flows({}, topology);
    for (const Demand& ring : rings_of_leaves(topology, seed)) {
      demand.flows.insert(demand.flows.end(), ring.flows.begin(), ring.flows.end());
    }
    for (uint32_t host = 0; host < 64; ++host) {
      for (const uint32_t distance : {1U, 4U, 32U}) {
        demand.flows.push_back({host, (host + distance) % 64, 100});
      }
    }
    const PathPlanOptions options{.paths = 64};
    const Result<PathPlan> plan = plan_paths(topology, demand, options);
    ASSERT_TRUE(plan.has_value());
    EXPECT_TRUE(plan->colored) << seed;
    EXPECT_EQ(plan->parts, 1U) << seed;
    EXPECT_LE(plan->planned.between_switches, plan->planned.of_nics * 1.002) << seed;
    expect_consistent(topology, demand, options, *plan);
  }
}

TEST(PathPlan, JobsThatDoNotKnowOfEachOtherDrawTheirFirstSpine) {
  const topology::Topology topology = clos(8, 8, 8, 1);
  std::set<LinkId> first_links;
  for (const Demand& ring : rings_of_leaves(topology, 1)) {
    const Result<PathPlan> plan = plan_paths(topology, ring, {});
    ASSERT_TRUE(plan.has_value());
    const std::vector<double> loads = loads_of_plan(topology, ring, *plan, {});
    Fabric fabric(topology, {});
    for (const LinkId link : fabric.links_from(0)) {
      if (fabric.is_between_switches(link) && loads[link] > 0) first_links.insert(link);
    }
  }
  EXPECT_GE(first_links.size(), 4U);
}

TEST(PathPlan, EqualFlowsOnAFullClosReachTheBoundOnOnePathEach) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const topology::Topology topology = clos(6, 8, 8, seed);
    const Demand demand = ring_of_leaves(topology, 8);
    const Result<PathPlan> plan = plan_paths(topology, demand, {});
    ASSERT_TRUE(plan.has_value());
    expect_consistent(topology, demand, {}, *plan);
    EXPECT_TRUE(plan->colored);
    EXPECT_EQ(plan->parts, 1U);
    EXPECT_NEAR(plan->planned.longest(), plan->bound(), plan->bound() * 0.003);
    EXPECT_GT(plan->ecmp.longest(), plan->bound() * 1.9);
    EXPECT_EQ(plan->no_gain, NoGain::kGains);
  }
}

TEST(PathPlan, RandomFabricsStayNearTheBound) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const auto leaves = static_cast<uint32_t>(random.between(2, 6));
    const auto spines = static_cast<uint32_t>(random.between(1, 6));
    const auto hosts = static_cast<uint32_t>(random.between(1, 8));
    const topology::Topology topology = clos(leaves, spines, hosts, seed);
    const Demand demand = permutation(topology, seed);
    const Result<PathPlan> plan = plan_paths(topology, demand, {});
    ASSERT_TRUE(plan.has_value());
    expect_consistent(topology, demand, {}, *plan);
    EXPECT_LE(plan->planned.longest(), plan->bound() * 1.05)
        << "seed " << seed << ": " << leaves << " leaves, " << spines << " spines, " << hosts;
  }
}

TEST(PathPlan, ThreeTiersAndFailedLinksStayNearTheBound) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const topology::Topology topology =
        topology::fat_tree({.hosts_per_leaf = 4, .hash_seed = seed});
    const Demand demand = permutation(topology, seed);
    PathPlanOptions options{.paths = 128, .most_parts = 8, .failed_links = {}};
    const Result<PathPlan> whole = plan_paths(topology, demand, options);
    ASSERT_TRUE(whole.has_value());
    expect_consistent(topology, demand, options, *whole);
    EXPECT_LE(whole->planned.longest(), whole->bound() * 1.1) << "seed " << seed;
    // The first leaf's first uplink.
    options.failed_links = {static_cast<uint32_t>(topology.nics.size())};
    const Result<PathPlan> failed = plan_paths(topology, demand, options);
    ASSERT_TRUE(failed.has_value());
    EXPECT_EQ(failed->unreachable, 0U);
    EXPECT_LE(failed->planned.longest(), failed->bound() * 1.1) << "seed " << seed;
  }
}

// 8 rails of 64 hosts under each leaf; enough lanes for groups.
topology::Topology rails(uint32_t spines) {
  return topology::leaf_spine(
      {.leaves = 8 * 8, .spines = spines, .hosts_per_leaf = 64, .nics_per_host = 8, .rails = true});
}

TEST(PathPlan, RailsPlannedOnAnyNumberOfThreadsAreTheSamePlan) {
  for (const uint32_t spines :
       {16U, 32U}) {  // divided among several routes, and with others beside
    const topology::Topology topology = rails(spines);
    Demand demand = permutation(topology, spines);
    if (spines == 32) {
      demand.background.assign(2 * topology.links.size(), 0);
      for (size_t link = 0; link < demand.background.size(); link += 7) {
        demand.background[link] = 100'000;
      }
    }
    PathPlanOptions options{.paths = 256, .failed_links = {}, .threads = 1};
    const Result<PathPlan> one = plan_paths(topology, demand, options);
    ASSERT_TRUE(one.has_value());
    expect_consistent(topology, demand, options, *one);
    EXPECT_LE(one->planned.longest(), one->bound() * 1.05) << spines;
    for (const uint32_t threads : {2U, 5U, 0U}) {
      options.threads = threads;
      const Result<PathPlan> several = plan_paths(topology, demand, options);
      ASSERT_TRUE(several.has_value());
      ASSERT_EQ(several->flows.size(), one->flows.size());
      for (size_t i = 0; i < one->flows.size(); ++i) {
        ASSERT_EQ(several->flows[i].paths, one->flows[i].paths) << threads << ", flow " << i;
      }
      EXPECT_EQ(several->planned.between_switches, one->planned.between_switches);
      EXPECT_EQ(several->planned.of_nics, one->planned.of_nics);
      EXPECT_EQ(several->ecmp.between_switches, one->ecmp.between_switches);
      EXPECT_EQ(several->spraying.between_switches, one->spraying.between_switches);
      EXPECT_EQ(several->bound_between, one->bound_between);
      EXPECT_EQ(several->parts, one->parts);
      EXPECT_EQ(several->colored, one->colored);
    }
  }
}

TEST(PathPlan, SaysWhereNoChoiceHelps) {
  const topology::Topology one_spine = clos(2, 1, 4, 1);
  const Result<PathPlan> one = plan_paths(one_spine, ring_of_leaves(one_spine, 4), {});
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(one->no_gain, NoGain::kOneRoute);
  // All send to one host: its downlink is what limits.
  const topology::Topology wide = clos(4, 8, 4, 1);
  topology::Workload incast;
  for (uint32_t i = 1; i < 16; ++i) {
    incast.flows.push_back({.id = i, .from = i, .to = 0, .bytes = mebibytes(1)});
  }
  const Result<PathPlan> many = plan_paths(wide, demand_of_flows(incast, wide), {});
  ASSERT_TRUE(many.has_value());
  EXPECT_EQ(many->no_gain, NoGain::kNics);
}

TEST(PathPlan, OthersLoadIsAvoided) {
  const topology::Topology topology = clos(2, 2, 1, 3);
  Demand demand = permutation(topology, 1);
  demand.background.assign(2 * topology.links.size(), 0);
  // The first leaf's way to the first spine is full.
  const auto up = static_cast<LinkId>(2 * topology.nics.size());
  demand.background[up] = 10 << 20;
  const Result<PathPlan> plan = plan_paths(topology, demand, {});
  ASSERT_TRUE(plan.has_value());
  Fabric fabric(topology, {});
  for (const PlannedPath& path : plan->flows[0].paths) {
    Route route;
    ASSERT_TRUE(fabric.route(key_of(fabric, demand, plan->flows[0].demand, 0, path.path), route));
    EXPECT_NE(route.between().front(), up);
  }
}

TEST(PathPlan, LanesOfSeveralNicsCarryEqualShares) {
  const topology::Topology topology = topology::leaf_spine(
      {.leaves = 4, .spines = 2, .hosts_per_leaf = 4, .nics_per_host = 2, .rails = true});
  const Demand demand = permutation(topology, 2);
  const Result<PathPlan> plan = plan_paths(topology, demand, {});
  ASSERT_TRUE(plan.has_value());
  for (const PlannedFlow& flow : plan->flows) {
    uint32_t even = 0;
    for (const PlannedPath& path : flow.paths)
      even += path.path % 2 == 0 ? path.share_per_million : 0;
    EXPECT_NEAR(even, 500'000, 2);
  }
}

TEST(PathPlan, RefusesSwitchesThatDoNotHash) {
  topology::Topology topology = clos(2, 2, 1, 1);
  topology.switches[0].shape.balancing = topology::Balancing::kSpray;
  const Result<PathPlan> plan = plan_paths(topology, permutation(topology, 1), {});
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().code, ErrorCode::kInvalid);
}

// Another job loads links that no flow can use (leaf 2 and 3), and one that all can.
TEST(PathPlan, OthersLoadsElsewhereDoNotSpoilIt) {
  const topology::Topology topology = clos(4, 4, 8, 1);
  topology::Workload workload;
  for (uint32_t i = 0; i < 5; ++i) {  // five flows over four spines
    workload.flows.push_back({.id = i, .from = i, .to = 8 + i, .bytes = mebibytes(100)});
  }
  Demand demand = demand_of_flows(workload, topology);
  const Fabric fabric(topology, {});
  const Result<PathPlan> alone = plan_paths(topology, demand, {});
  ASSERT_TRUE(alone.has_value());
  EXPECT_GT(alone->parts, 1U);
  demand.background.assign(2 * topology.links.size(), 0);
  for (const uint32_t leaf : {2, 3}) {
    for (const LinkId link : fabric.links_from(leaf)) demand.background[link] = 1e12;
  }
  const Result<PathPlan> beside = plan_paths(topology, demand, {});
  ASSERT_TRUE(beside.has_value());
  expect_consistent(topology, demand, {}, *beside);
  EXPECT_GT(beside->parts, 1U);
  EXPECT_NEAR(beside->planned.between_switches, alone->planned.between_switches,
              alone->planned.between_switches * 0.01);
  EXPECT_NEAR(beside->bound(), alone->bound(), alone->bound() * 0.01);
  // Three spines are left: each has 5/3 of a flow.
  demand.background[fabric.links_from(0)[1]] = 1e12;
  const Result<PathPlan> three = plan_paths(topology, demand, {});
  ASSERT_TRUE(three.has_value());
  expect_consistent(topology, demand, {}, *three);
  EXPECT_NEAR(three->planned.between_switches, alone->planned.between_switches * 4 / 3,
              alone->planned.between_switches * 0.03);
  EXPECT_NEAR(three->bound_between, alone->planned.between_switches * 4 / 3,
              alone->planned.between_switches * 0.02);
}

}  // namespace
}  // namespace heddle::planner
