// Time of a plan by the number of hosts, each with 8 NICs on 8 rails: a random permutation, and a
// ring through leaves, on a full Clos fabric. `of_bound` is the planned time of the most loaded
// link over the lower bound. And of planning again after a failure: from the topology and the plan
// from before, and by a plan that is kept (live_plan.h). The latter's time has everything from the
// change to the flows' new paths and the new time of the most loaded link; no file is written. The
// first plan on one thread, and on as many as there are cores (threads:0); CPU time is of all.
#include <benchmark/benchmark.h>

#include <memory>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "planner/live_plan.h"
#include "planner/path_plan.h"
#include "planner/path_replan.h"
#include "topology/generators.h"
#include "topology/workload_patterns.h"

namespace heddle::planner {
namespace {

constexpr uint32_t kRails = 8;
constexpr uint32_t kHostsOfLeaf = 64;
constexpr uint32_t kSpines = 64;

topology::Topology fabric_of(uint32_t hosts) {
  return topology::leaf_spine({.leaves = hosts / kHostsOfLeaf * kRails,
                               .spines = kSpines,
                               .hosts_per_leaf = kHostsOfLeaf,
                               .nics_per_host = kRails,
                               .rails = true});
}

Demand permutation(const topology::Topology& topology) {
  topology::Workload workload;
  Random random(1);
  std::vector<uint32_t> hosts(topology.hosts.size());
  std::iota(hosts.begin(), hosts.end(), 0);
  topology::add_permutation(workload, hosts, {.bytes = mebibytes(64), .start = {}}, random);
  return demand_of_flows(workload, topology);
}

Demand ring_of_leaves(const topology::Topology& topology) {
  topology::Workload workload;
  const auto hosts = static_cast<uint32_t>(topology.hosts.size());
  for (uint32_t i = 0; i < hosts; ++i) {
    workload.flows.push_back(
        {.id = i, .from = i, .to = (i + kHostsOfLeaf) % hosts, .bytes = mebibytes(64)});
  }
  return demand_of_flows(workload, topology);
}

void measure(benchmark::State& state, const topology::Topology& topology, const Demand& demand) {
  const PathPlanOptions options{
      .paths = 256, .failed_links = {}, .threads = static_cast<uint32_t>(state.range(1))};
  double of_bound = 0;
  double parts = 0;
  for (auto _ : state) {
    const Result<PathPlan> plan = plan_paths(topology, demand, options);
    of_bound = plan->planned.longest() / plan->bound();
    parts = plan->parts;
  }
  state.counters["of_bound"] = of_bound;
  state.counters["parts"] = parts;
}

void BM_PlanOfAPermutation(benchmark::State& state) {
  const topology::Topology topology = fabric_of(static_cast<uint32_t>(state.range(0)));
  measure(state, topology, permutation(topology));
}

void BM_PlanOfARing(benchmark::State& state) {
  const topology::Topology topology = fabric_of(static_cast<uint32_t>(state.range(0)));
  measure(state, topology, ring_of_leaves(topology));
}

// The first leaf loses its first uplink.
void BM_ReplanAfterAFailure(benchmark::State& state) {
  const topology::Topology topology = fabric_of(static_cast<uint32_t>(state.range(0)));
  const Demand demand = permutation(topology);
  PathPlanOptions options{.paths = 256, .failed_links = {}};
  EarlierPlan earlier;
  const Result<PathPlan> before = plan_paths(topology, demand, options);
  for (const PlannedFlow& flow : before->flows) {
    earlier.paths[{flow.demand.from, flow.demand.to}] = flow.paths;
  }
  options.failed_links = {static_cast<uint32_t>(topology.nics.size())};
  for (auto _ : state) {
    const Result<PathPlan> plan = replan_paths(topology, demand, options, earlier);
    state.counters["of_bound"] = plan->planned.longest() / plan->bound();
    state.counters["kept"] = static_cast<double>(plan->kept);
  }
}

std::unique_ptr<LivePlan> live_permutation(const topology::Topology& topology) {
  return std::move(
      *LivePlan::make(topology, permutation(topology), {.paths = 256, .failed_links = {}}));
}

void count(benchmark::State& state, const Replanned& replanned, const LivePlan& live) {
  state.counters["lanes"] = static_cast<double>(replanned.considered);
  state.counters["kept"] = static_cast<double>(live.flows().size() - replanned.moved.size());
}

// The first uplink of a leaf fails; another leaf's each time.
void BM_KeptPlanAfterAFailure(benchmark::State& state) {
  const topology::Topology topology = fabric_of(static_cast<uint32_t>(state.range(0)));
  const std::unique_ptr<LivePlan> live = live_permutation(topology);
  const auto leaves = static_cast<uint32_t>(state.range(0)) / kHostsOfLeaf * kRails;
  uint32_t leaf = 0;
  for (auto _ : state) {
    const auto cable = static_cast<uint32_t>(topology.nics.size()) + leaf * kSpines;
    count(state, live->set_down(cable, true), *live);
    state.PauseTiming();
    live->set_down(cable, false);
    leaf = (leaf + 1) % leaves;
    state.ResumeTiming();
  }
}

// The same cables work again.
void BM_KeptPlanAfterARepair(benchmark::State& state) {
  const topology::Topology topology = fabric_of(static_cast<uint32_t>(state.range(0)));
  const std::unique_ptr<LivePlan> live = live_permutation(topology);
  const auto leaves = static_cast<uint32_t>(state.range(0)) / kHostsOfLeaf * kRails;
  uint32_t leaf = 0;
  for (auto _ : state) {
    const auto cable = static_cast<uint32_t>(topology.nics.size()) + leaf * kSpines;
    state.PauseTiming();
    live->set_down(cable, true);
    state.ResumeTiming();
    count(state, live->set_down(cable, false), *live);
    leaf = (leaf + 1) % leaves;
  }
}

// A flow of the permutation begins a second time, and ends.
void BM_KeptPlanOfAFlow(benchmark::State& state) {
  const topology::Topology topology = fabric_of(static_cast<uint32_t>(state.range(0)));
  const std::unique_ptr<LivePlan> live = live_permutation(topology);
  const auto flows = static_cast<uint32_t>(state.range(0));
  uint32_t flow = 0;
  for (auto _ : state) {
    const FlowDemand demand = live->flows()[flow].demand;
    const Replanned replanned = live->add_flow(demand);
    count(state, replanned, *live);
    live->remove_flow(replanned.begun);
    flow = (flow + 1) % flows;
  }
}

void on_threads(benchmark::internal::Benchmark* plan) {
  plan->ArgNames({"hosts", "threads"});
  for (const int64_t hosts : {1'024, 16'384}) {
    for (const int64_t threads : {1, 0}) plan->Args({hosts, threads});
  }
  plan->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
}

BENCHMARK(BM_PlanOfAPermutation)->Apply(on_threads);
BENCHMARK(BM_PlanOfARing)->Apply(on_threads);
BENCHMARK(BM_ReplanAfterAFailure)->Arg(1'024)->Arg(16'384)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_KeptPlanAfterAFailure)->Arg(1'024)->Arg(16'384)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_KeptPlanAfterARepair)->Arg(1'024)->Arg(16'384)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_KeptPlanOfAFlow)->Arg(1'024)->Arg(16'384)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace heddle::planner
