// A plan's loads against those of a simulation that follows it: planner and simulated switches hash
// alike, and the transport sends each path its share.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "planner/path_plan.h"
#include "planner/paths/loads.h"
#include "simulator/flow_run.h"
#include "topology/generators.h"
#include "topology/workload_patterns.h"

namespace heddle {
namespace {

topology::Workload permutation(const topology::Topology& topology, Bytes bytes, uint64_t seed) {
  topology::Workload workload;
  Random random(seed);
  std::vector<uint32_t> hosts(topology.hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  topology::add_permutation(workload, hosts, {.bytes = bytes, .start = {}}, random);
  return workload;
}

// Payload on each direction of each link, as the plan's shares and the planner's routes have it.
planner::Loads loads_of(const planner::PathPlan& plan, const planner::Demand& demand,
                        planner::Fabric& fabric) {
  planner::Loads loads(fabric, {});
  for (const planner::PlannedFlow& flow : plan.flows) {
    const uint32_t lanes = planner::lanes_of(fabric, flow.demand.from, flow.demand.to, plan.paths);
    for (const planner::PlannedPath& path : flow.paths) {
      planner::Route route;
      EXPECT_TRUE(fabric.route(
          planner::key_of(fabric, demand, flow.demand, path.path % lanes, path.path), route));
      loads.add(route, static_cast<double>(flow.demand.bytes) * path.share_per_million * 1e-6);
    }
  }
  return loads;
}

void expect_planned_loads(const topology::Topology& topology, uint64_t seed,
                          const std::vector<uint32_t>& failed = {}) {
  topology::Workload workload = permutation(topology, mebibytes(8), seed);
  workload.failed_links = failed;
  const planner::Demand demand = planner::demand_of_flows(workload, topology);
  const Result<planner::PathPlan> plan =
      planner::plan_paths(topology, demand, {.failed_links = failed});
  ASSERT_TRUE(plan.has_value());
  simulator::FlowRunOptions options{
      .seed = seed, .selector = "plan", .paths = plan->paths, .routes_converge_after = {}};
  for (const planner::PlannedFlow& flow : plan->flows) {
    for (const planner::PlannedPath& path : flow.paths) {
      options.plan[{flow.demand.from, flow.demand.to}].push_back(
          {path.path, path.share_per_million});
    }
  }
  simulator::FlowRun run(topology, workload, options);
  while (run.advance(seconds(1), 100'000)) {
  }
  ASSERT_EQ(run.ended(), workload.flows.size());
  ASSERT_EQ(run.wrong(), 0U);

  planner::Fabric fabric(topology, failed);
  const planner::Loads loads = loads_of(*plan, demand, fabric);
  double planned = 0;
  double carried = 0;
  double most = 0;
  for (planner::LinkId link = 0; link < fabric.links(); ++link) {
    if (!fabric.is_between_switches(link)) continue;
    planned += loads.bytes(link);
    most = std::max(most, loads.bytes(link));
    carried += static_cast<double>(run.network().counters(link).bytes);
  }
  // Headers, framing, acknowledgements, probes.
  const double overhead = carried / planned;
  EXPECT_GT(overhead, 1);
  EXPECT_LT(overhead, 1.06);
  // Without a cable, queues overflow, and retransmissions take any path.
  const double error = failed.empty() ? 0.03 : 0.05;
  for (planner::LinkId link = 0; link < fabric.links(); ++link) {
    if (!fabric.is_between_switches(link)) continue;
    const auto bytes = static_cast<double>(run.network().counters(link).bytes);
    EXPECT_NEAR(bytes, loads.bytes(link) * overhead, most * error) << "link " << link;
  }
}

TEST(PlannedLoads, ALeafSpinesLinksCarryWhatThePlanGivesThem) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    expect_planned_loads(
        topology::leaf_spine({.leaves = 4, .spines = 4, .hosts_per_leaf = 4, .hash_seed = seed}),
        seed);
  }
}

TEST(PlannedLoads, LinksOfTwoRailsCarryWhatThePlanGivesThem) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    expect_planned_loads(topology::leaf_spine({.leaves = 4,
                                               .spines = 2,
                                               .hosts_per_leaf = 4,
                                               .hash_seed = seed,
                                               .nics_per_host = 2,
                                               .rails = true}),
                         seed);
  }
}

TEST(PlannedLoads, AFatTreesLinksCarryWhatThePlanGivesThem) {
  expect_planned_loads(topology::fat_tree({.hosts_per_leaf = 2, .hash_seed = 2}), 2);
}

// Switches that are no neighbors of the cable hash over fewer links, too.
TEST(PlannedLoads, WithAFailedCableAllLinksCarryWhatThePlanGivesThem) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const topology::LeafSpineShape shape{
        .leaves = 4, .spines = 4, .hosts_per_leaf = 4, .hash_seed = seed};
    expect_planned_loads(topology::leaf_spine(shape), seed,
                         {topology::leaf_spine_link(shape, 1, 2)});
  }
  const topology::Topology tree = topology::fat_tree({.hosts_per_leaf = 2, .hash_seed = 2});
  for (const bool at_core : {false, true}) {
    const auto cables = static_cast<uint32_t>(tree.links.size());
    const uint32_t cable = at_core ? cables - 1 : static_cast<uint32_t>(tree.nics.size());
    expect_planned_loads(tree, 2, {cable});
  }
}

}  // namespace
}  // namespace heddle
