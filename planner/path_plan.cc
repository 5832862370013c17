// Placements of more and finer units, until one is near the bound: see path_plan.h.
#include "planner/path_plan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "planner/paths/bound.h"
#include "planner/paths/placement.h"

namespace heddle::planner {
namespace {

constexpr uint32_t kWhole = 1'000'000;

LongestTimes longest_of(const Loads& loads) {
  return {loads.longest_between(), loads.longest_of_nics()};
}

Result<void> check(const topology::Topology& topology, const Demand& demand) {
  for (const topology::Switch& each : topology.switches) {
    if (each.shape.balancing == topology::Balancing::kEcmp) continue;
    return fail(ErrorCode::kInvalid, "cannot plan paths",
                "switch " + each.name + " balances by '" +
                    std::string(name_of(each.shape.balancing)) + "', whatever a packet's ports",
                "plan for fabrics whose switches hash (balancing = \"ecmp\")");
  }
  if (!demand.flows.empty()) return {};
  return fail(ErrorCode::kInvalid, "cannot plan paths", "nothing is sent from one host to another",
              "give a workload or a matrix with flows");
}

// Shares are rounded so that their sum is whole.
std::vector<PlannedPath> shares_of(const std::map<uint16_t, double>& bytes) {
  double sum = 0;
  for (const auto& [path, each] : bytes) sum += each;
  std::vector<PlannedPath> shares;
  double seen = 0;
  uint32_t given = 0;
  for (const auto& [path, each] : bytes) {
    seen += each;
    const auto until = static_cast<uint32_t>(std::lround(seen / sum * kWhole));
    if (until > given) shares.push_back({path, until - given});
    given = until;
  }
  return shares;
}

std::vector<PlannedFlow> flows_of(const Demand& demand, const Placement& placement) {
  std::vector<PlannedFlow> flows;
  flows.reserve(demand.flows.size());
  for (const FlowDemand& flow : demand.flows) flows.push_back({flow, {}});
  std::map<uint16_t, double> bytes;
  const std::span<const Unit> units = placement.units();
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i].path != kNoPath) bytes[units[i].path] += units[i].bytes;
    if (i + 1 < units.size() && units[i + 1].flow == units[i].flow) continue;
    if (!bytes.empty()) flows[units[i].flow].paths = shares_of(bytes);
    bytes.clear();
  }
  return flows;
}

bool any_choice(Fabric& fabric, const Demand& demand, uint16_t paths) {
  for (const FlowDemand& flow : demand.flows) {
    const uint32_t lanes =
        lanes_of(fabric, demand.endpoints[flow.from].host, demand.endpoints[flow.to].host, paths);
    Route first;
    Route other;
    for (uint32_t path = 0; path < paths; ++path) {
      const uint32_t lane = path % lanes;
      if (path < lanes) continue;
      const auto before = static_cast<uint16_t>(lane);
      const bool both =
          fabric.route(key_of(fabric, demand, flow, lane, before), first) &&
          fabric.route(key_of(fabric, demand, flow, lane, static_cast<uint16_t>(path)), other);
      if (both && !(first == other)) return true;
    }
  }
  return false;
}

NoGain no_gain_of(const PathPlan& plan, Fabric& fabric, const Demand& demand) {
  if (plan.planned.longest() < plan.ecmp.longest() * (1 - params::kTolerance)) {
    return NoGain::kGains;
  }
  if (!any_choice(fabric, demand, plan.paths)) return NoGain::kOneRoute;
  return plan.planned.of_nics >= plan.planned.between_switches ? NoGain::kNics : NoGain::kEven;
}

}  // namespace

Result<PathPlan> plan_paths(const topology::Topology& topology, const Demand& demand,
                            const PathPlanOptions& options) {
  if (Result<void> fits = check(topology, demand); !fits) return fail(fits.error());
  Fabric fabric(topology, options.failed_links);
  Placement placement(fabric, demand, options.paths);
  PathPlan plan;
  plan.paths = options.paths;
  double best = 0;
  for (uint32_t parts = 1; parts <= std::max(options.most_parts, 1U); ++parts) {
    // The first placement has no bound yet: it shows how much each lane carries.
    placement.place(parts, plan.bound_between);
    const LongestTimes times = longest_of(placement.loads());
    if (parts == 1) {
      plan.bound_between = cut_bound(fabric, demand, placement);
      best = times.longest() * 2;
    }
    if (times.longest() < best * (1 - 1e-9) || parts == 1) {
      best = times.longest();
      plan.planned = times;
      plan.parts = parts;
      plan.colored = placement.colored();
      plan.unreachable = placement.unreachable();
      plan.flows = flows_of(demand, placement);
    }
    const double floor = std::max(plan.bound_between, times.of_nics);
    if (best <= floor * (1 + params::kTolerance)) break;
    plan.bound_between = std::max(plan.bound_between, dual_bound(fabric, demand, placement));
  }
  plan.ecmp = longest_of(placement.loads_of_first_paths());
  plan.spraying = longest_of(placement.loads_of_all_paths());
  plan.no_gain = no_gain_of(plan, fabric, demand);
  return plan;
}

}  // namespace heddle::planner
