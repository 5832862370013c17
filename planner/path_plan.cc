// One route a lane where that is near the bound, shares of several elsewhere: see path_plan.h.
#include "planner/path_plan.h"

#include <algorithm>

#include "planner/paths/bound.h"
#include "planner/paths/plan_on.h"
#include "planner/paths/route_choice.h"
#include "planner/paths/route_table.h"

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

// What others and the NICs' own links carry, whatever routes are chosen.
Loads fixed_loads(const RouteTable& table, std::span<const double> background) {
  Loads loads(table.fabric(), background);
  for (uint32_t i = 0; i < table.size(); ++i) {
    const Lane& lane = table.lane(i);
    if (table.options_of(i) == 0) continue;
    const LinkId out = table.fabric().egress(lane.from_nic);
    const LinkId in = table.fabric().ingress(lane.to_nic);
    loads.add(std::span(&out, 1), lane.bytes);
    if (in != out) loads.add(std::span(&in, 1), lane.bytes);
  }
  return loads;
}

// Each lane on its first path, as one connection of one path a lane is.
Loads first_path_loads(const RouteTable& table, const Loads& fixed) {
  Loads loads = fixed;
  for (uint32_t i = 0; i < table.size(); ++i) {
    if (table.options_of(i) > 0) loads.add(table.links(i, 0), table.lane(i).bytes);
  }
  return loads;
}

Loads all_path_loads(const RouteTable& table, const Loads& fixed) {
  Loads loads = fixed;
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t paths = 0;
    for (const RouteOption& option : table.options(i)) paths += option.paths;
    for (uint32_t option = 0; option < table.options_of(i); ++option) {
      const double share = static_cast<double>(table.options(i)[option].paths) / paths;
      loads.add(table.links(i, option), table.lane(i).bytes * share);
    }
  }
  return loads;
}

// The flows with the paths that `for_each_path(lane, use(option, share))` names.
template <typename ForEachPath>
std::vector<PlannedFlow> flows_of(const Demand& demand, const RouteTable& table,
                                  ForEachPath for_each_path) {
  std::vector<PlannedFlow> flows;
  flows.reserve(demand.flows.size());
  for (const FlowDemand& flow : demand.flows) flows.push_back({flow, {}});
  std::vector<PathBytes> paths;
  for (uint32_t i = 0; i < table.size(); ++i) {
    for_each_path(i, [&](uint32_t option, double share) {
      if (share > 0) paths.push_back({table.options(i)[option].path, table.lane(i).bytes * share});
    });
    if (i + 1 < table.size() && table.lane(i + 1).flow == table.lane(i).flow) continue;
    if (!paths.empty()) flows[table.lane(i).flow].paths = shares_of(paths, kWhole);
    paths.clear();
  }
  return flows;
}

// Plans on one table of routes.
class Planning {
 public:
  Planning(Fabric& fabric, const Demand& demand, const PathPlanOptions& options)
      : fabric_(fabric),
        demand_(demand),
        options_(options),
        table_(fabric, demand, lanes_of_demand(fabric, demand, options.paths), options.paths),
        fixed_(fixed_loads(table_, demand.background)),
        choice_(table_, fixed_) {}

  PathPlan plan() {
    plan_.paths = options_.paths;
    measure_usual();
    place();
    compare(choice_.loads());
    return std::move(plan_);
  }

  // The same of paths that are chosen already.
  PathPlan measured(std::vector<PlannedFlow> flows) {
    plan_.flows = std::move(flows);
    measure_usual();
    const Loads loads = planned_loads();
    plan_.planned.between_switches = loads.longest_between();
    compare(loads);
    return std::move(plan_);
  }

 private:
  // What takes longest without a plan, whatever the plan, and at best.
  void measure_usual() {
    plan_.ecmp = longest_of(first_path_loads(table_, fixed_));
    plan_.spraying = longest_of(all_path_loads(table_, fixed_));
    plan_.planned.of_nics = fixed_.longest_of_nics();
    plan_.bound_between = cut_bound(table_, demand_.background);
    for (uint32_t i = 0; i < table_.size(); ++i) {
      plan_.unreachable += table_.options_of(i) == 0 ? 1 : 0;
    }
  }

  // With the plan's loads.
  void compare(const Loads& loads) {
    if (!near_bound(params::kShareTolerance)) raise_bound(loads);
    plan_.no_gain = no_gain();
  }

  Loads planned_loads() {
    Loads loads = fixed_;
    Route route;
    for (const PlannedFlow& flow : plan_.flows) {
      const uint32_t lanes = lanes_of(fabric_, demand_.endpoints[flow.demand.from].host,
                                      demand_.endpoints[flow.demand.to].host, options_.paths);
      for (const PlannedPath& each : flow.paths) {
        const topology::EcmpKey key =
            key_of(fabric_, demand_, flow.demand, each.path % lanes, each.path);
        if (!fabric_.route(key, route)) continue;
        loads.add(route.between(),
                  static_cast<double>(flow.demand.bytes) * each.share_per_million * 1e-6);
      }
    }
    return loads;
  }

  double floor() const { return std::max(plan_.bound_between, plan_.planned.of_nics); }
  bool near_bound(double tolerance) const {
    return plan_.planned.between_switches <= floor() * (1 + tolerance);
  }

  void place() {
    choice_.choose(floor(), options_.most_parts);
    plan_.planned.between_switches = choice_.longest();
    plan_.parts = choice_.parts();
    plan_.colored = choice_.colored();
    plan_.flows =
        flows_of(demand_, table_, [&](uint32_t lane, auto use) { choice_.for_each(lane, use); });
  }

  // Duality takes longer than the cuts, so it has its turn where these are not met.
  void raise_bound(const Loads& loads) {
    DualBound dual(fabric_, table_, demand_.background);
    plan_.bound_between = std::max(plan_.bound_between, dual.with_lengths_of(loads));
    if (!choice_.lengths().empty()) {
      plan_.bound_between = std::max(plan_.bound_between, dual.with(choice_.lengths()));
    }
  }

  NoGain no_gain() const {
    if (plan_.planned.longest() < plan_.ecmp.longest() * (1 - params::kTolerance)) {
      return NoGain::kGains;
    }
    bool any_choice = false;
    for (uint32_t i = 0; i < table_.size(); ++i) any_choice |= table_.options_of(i) > 1;
    if (!any_choice) return NoGain::kOneRoute;
    return plan_.planned.of_nics >= plan_.planned.between_switches ? NoGain::kNics : NoGain::kEven;
  }

  Fabric& fabric_;
  const Demand& demand_;
  const PathPlanOptions& options_;
  RouteTable table_;
  Loads fixed_;
  RouteChoice choice_;
  PathPlan plan_;
};

}  // namespace

Result<PathPlan> plan_on(Fabric& fabric, const Demand& demand, const PathPlanOptions& options) {
  if (Result<void> fits = check(fabric.topology(), demand); !fits) return fail(fits.error());
  return Planning(fabric, demand, options).plan();
}

Result<PathPlan> plan_paths(const topology::Topology& topology, const Demand& demand,
                            const PathPlanOptions& options) {
  Fabric fabric(topology, options.failed_links);
  return plan_on(fabric, demand, options);
}

void measure_plan(const topology::Topology& topology, const Demand& demand,
                  const PathPlanOptions& options, PathPlan& plan) {
  Fabric fabric(topology, options.failed_links);
  const PathPlan measured = Planning(fabric, demand, options).measured(plan.flows);
  plan.ecmp = measured.ecmp;
  plan.spraying = measured.spraying;
  plan.planned = measured.planned;
  plan.bound_between = measured.bound_between;
  plan.unreachable = measured.unreachable;
  plan.no_gain = measured.no_gain;
}

}  // namespace heddle::planner
