// One route a lane where that is near the bound, shares of several elsewhere: see path_plan.h.
#include "planner/path_plan.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "planner/paths/at_once.h"
#include "planner/paths/bound.h"
#include "planner/paths/group_plan.h"
#include "planner/paths/lane_groups.h"
#include "planner/paths/plan_on.h"
#include "planner/paths/planned_routes.h"

namespace heddle::planner {
namespace {

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

// Plans the lanes of a demand in groups that have no link between switches in common.
class Planning {
 public:
  Planning(Fabric& fabric, const Demand& demand, const PathPlanOptions& options)
      : fabric_(fabric), demand_(demand), options_(options), clos_(RegularClos::find(fabric)) {
    divide();
  }

  PathPlan plan() {
    plan_.paths = options_.paths;
    measure_usual();
    place();
    if (!near_bound(params::kShareTolerance)) raise_bound(chosen_loads());
    plan_.no_gain = no_gain();
    return std::move(plan_);
  }

  // The same of paths that are chosen already. The result has no flows.
  PathPlan measured(std::span<const PlannedFlow> flows) {
    measure_usual();
    const Loads loads = loads_of(flows);
    plan_.planned.between_switches = loads.longest_between();
    if (!near_bound(params::kShareTolerance)) raise_bound(loads);
    plan_.no_gain = no_gain();
    return std::move(plan_);
  }

 private:
  void divide() {
    std::vector<Lane> lanes = lanes_of_demand(fabric_, demand_, options_.paths);
    group_of_ = group_lanes(fabric_, clos_ ? &*clos_ : nullptr, lanes);
    std::vector<std::vector<Lane>> divided(1);
    for (size_t i = 0; i < lanes.size(); ++i) {
      if (group_of_[i] >= divided.size()) divided.resize(group_of_[i] + 1U);
      divided[group_of_[i]].push_back(lanes[i]);
    }
    lanes = {};
    groups_.resize(divided.size());
    for_each_group([&](uint32_t i) {
      LinkScratch scratch(fabric_.links(), kNone);
      groups_[i] = std::make_unique<GroupPlan>(fabric_, demand_, std::move(divided[i]),
                                               options_.paths, scratch);
    });
  }

  void for_each_group(const std::function<void(uint32_t)>& work) const {
    for_each_at_once(static_cast<uint32_t>(groups_.size()), options_.threads, work);
  }

  // What takes longest without a plan, whatever the plan, and at best.
  void measure_usual() {
    plan_.planned.of_nics = loads_of_nics().longest_of_nics();
    plan_.ecmp.of_nics = plan_.spraying.of_nics = plan_.planned.of_nics;
    for (const auto& group : groups_) {
      plan_.ecmp.between_switches = std::max(plan_.ecmp.between_switches, group->on_first_paths());
      plan_.spraying.between_switches =
          std::max(plan_.spraying.between_switches, group->on_all_paths());
      plan_.bound_between = std::max(plan_.bound_between, group->cut_bound());
      plan_.unreachable += group->unreachable();
    }
  }

  // What others and the NICs' own links carry, whatever routes are chosen.
  Loads loads_of_nics() const {
    Loads loads(fabric_, demand_.background);
    for (const auto& group : groups_) {
      for (uint32_t i = 0; i < group->table().size(); ++i) {
        const Lane& lane = group->table().lane(i);
        if (group->table().options_of(i) == 0) continue;
        const LinkId out = fabric_.egress(lane.from_nic);
        const LinkId in = fabric_.ingress(lane.to_nic);
        loads.add(std::span(&out, 1), lane.bytes);
        if (in != out) loads.add(std::span(&in, 1), lane.bytes);
      }
    }
    return loads;
  }

  // Of links between switches, by LinkId.
  Loads chosen_loads() const {
    Loads loads(fabric_, demand_.background);
    for (const auto& group : groups_) {
      const std::span<const LinkId> links = group->table().own_links();
      for (uint32_t i = 0; i < links.size(); ++i) {
        loads.set(links[i], group->choice().loads().bytes(i));
      }
    }
    return loads;
  }

  Loads loads_of(std::span<const PlannedFlow> flows) {
    Loads loads(fabric_, demand_.background);
    for (const PlannedFlow& flow : flows) {
      for_each_planned_route({fabric_, demand_, options_.paths}, flow, kNone,
                             [&](size_t i, const Route& route) {
                               loads.add(route.between(), planned_bytes(flow, flow.paths[i]));
                             });
    }
    return loads;
  }

  double floor() const { return std::max(plan_.bound_between, plan_.planned.of_nics); }
  bool near_bound(double tolerance) const {
    return plan_.planned.between_switches <= floor() * (1 + tolerance);
  }

  void place() {
    const double least = floor();
    for_each_group([&](uint32_t i) {
      groups_[i]->choose(clos_ ? &*clos_ : nullptr, least, options_.most_parts);
    });
    plan_.colored = true;
    for (const auto& group : groups_) {
      const RouteChoice& choice = group->choice();
      plan_.planned.between_switches = std::max(plan_.planned.between_switches, choice.longest());
      plan_.parts = std::max(plan_.parts, choice.parts());
      plan_.colored = plan_.colored && choice.colored();
    }
    name_paths();
  }

  // The flows with the paths of their lanes, which may be in several groups.
  void name_paths() {
    plan_.flows.reserve(demand_.flows.size());
    for (const FlowDemand& flow : demand_.flows) plan_.flows.push_back({flow, {}});
    std::vector<uint32_t> next(groups_.size());  // lane of each group
    std::vector<PathBytes> paths;
    uint32_t flow = kNone;
    const auto take = [&] {
      if (!paths.empty()) plan_.flows[flow].paths = shares_of(paths, kWholeShare);
      paths.clear();
    };
    for (const uint16_t group : group_of_) {
      const RouteTable& table = groups_[group]->table();
      const uint32_t lane = next[group]++;
      if (table.lane(lane).flow != flow) take();
      flow = table.lane(lane).flow;
      groups_[group]->choice().for_each(lane, [&](uint32_t option, double share) {
        if (share <= 0) return;
        paths.push_back({table.options(lane)[option].path, table.lane(lane).bytes * share});
      });
    }
    take();
  }

  // Duality takes longer than the cuts, so it has its turn where these are not met.
  void raise_bound(const Loads& loads) {
    std::vector<const RouteTable*> tables;
    std::vector<double> lengths;
    for (const auto& group : groups_) {
      tables.push_back(&group->table());
      if (!group->has_lengths()) continue;
      lengths.resize(fabric_.links());
      const std::span<const LinkId> links = group->table().own_links();
      for (uint32_t i = 0; i < links.size(); ++i) lengths[links[i]] = group->choice().lengths()[i];
    }
    DualBound dual(fabric_, tables, demand_.background);
    plan_.bound_between = std::max(plan_.bound_between, dual.with_lengths_of(loads));
    if (!lengths.empty()) plan_.bound_between = std::max(plan_.bound_between, dual.with(lengths));
  }

  NoGain no_gain() const {
    if (plan_.planned.longest() < plan_.ecmp.longest() * (1 - params::kTolerance)) {
      return NoGain::kGains;
    }
    const bool any_choice = std::any_of(groups_.begin(), groups_.end(),
                                        [](const auto& group) { return group->any_choice(); });
    if (!any_choice) return NoGain::kOneRoute;
    return plan_.planned.of_nics >= plan_.planned.between_switches ? NoGain::kNics : NoGain::kEven;
  }

  Fabric& fabric_;
  const Demand& demand_;
  const PathPlanOptions& options_;
  const std::optional<RegularClos> clos_;
  std::vector<uint16_t> group_of_;  // by lane
  std::vector<std::unique_ptr<GroupPlan>> groups_;
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
