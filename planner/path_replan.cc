// Which flows a failure concerns, and a plan of these beside the others: see path_replan.h.
#include "planner/path_replan.h"

#include <algorithm>

#include "planner/paths/loads.h"
#include "planner/paths/plan_on.h"
#include "planner/paths/route_table.h"

namespace heddle::planner {
namespace {

// Cables that failed, and the distances from their ends.
class Failures {
 public:
  Failures(Fabric& fabric, std::span<const uint32_t> cables) : fabric_(fabric) {
    for (const uint32_t cable : cables) {
      const uint32_t a = fabric.start_of(2 * cable);
      const uint32_t b = fabric.end_of(2 * cable);
      if (a == kNone || b == kNone) {
        nics_.push_back(cable);
      } else {
        ends_.push_back({&fabric.distances_to(a), &fabric.distances_to(b)});
      }
    }
  }

  // Whether a shortest route of the route's NICs crosses one of the cables.
  bool concern(const Route& route) const {
    for (const LinkId link : {route.links().front(), route.links().back()}) {
      if (std::find(nics_.begin(), nics_.end(), link / 2) != nics_.end()) return true;
    }
    if (route.between().empty()) return false;
    const size_t hops = route.between().size();
    const uint32_t from = fabric_.start_of(route.between().front());
    const uint32_t to = fabric_.end_of(route.between().back());
    return std::any_of(ends_.begin(), ends_.end(), [&](const Ends& ends) {
      const std::vector<uint16_t>& a = *ends.to_a;
      const std::vector<uint16_t>& b = *ends.to_b;
      return a[from] + 1U + b[to] == hops || b[from] + 1U + a[to] == hops;
    });
  }

 private:
  struct Ends {
    const std::vector<uint16_t>* to_a;  // distances by switch
    const std::vector<uint16_t>* to_b;
  };

  Fabric& fabric_;
  std::vector<Ends> ends_;
  std::vector<uint32_t> nics_;
};

// Flows that keep their paths, and the others.
class Division {
 public:
  Division(Fabric& before, Failures& failures, const Demand& demand, uint16_t paths)
      : before_(before),
        failures_(failures),
        demand_(demand),
        paths_(paths),
        loads_(before, demand.background) {}

  // False: the flow must move. Its load counts otherwise.
  bool keep(const FlowDemand& flow, std::span<const PlannedPath> planned) {
    const uint32_t lanes = lanes_of(before_, demand_.endpoints[flow.from].host,
                                    demand_.endpoints[flow.to].host, paths_);
    routes_.clear();
    for (const PlannedPath& each : planned) {
      Route route;
      const uint32_t lane = each.path % lanes;
      if (each.path >= paths_ ||
          !before_.route(key_of(before_, demand_, flow, lane, each.path), route) ||
          failures_.concern(route)) {
        return false;
      }
      routes_.push_back(route);
    }
    for (size_t i = 0; i < routes_.size(); ++i) {
      loads_.add(routes_[i], static_cast<double>(flow.bytes) * planned[i].share_per_million * 1e-6);
    }
    return !routes_.empty();
  }
  const Loads& loads() const { return loads_; }

 private:
  Fabric& before_;
  Failures& failures_;
  const Demand& demand_;
  uint16_t paths_;
  Loads loads_;
  std::vector<Route> routes_;
};

}  // namespace

Result<PathPlan> replan_paths(const topology::Topology& topology, const Demand& demand,
                              const PathPlanOptions& options, const EarlierPlan& earlier) {
  std::vector<uint32_t> since;
  for (const uint32_t cable : options.failed_links) {
    const std::vector<uint32_t>& known = earlier.failed_links;
    if (std::find(known.begin(), known.end(), cable) == known.end()) since.push_back(cable);
  }
  Fabric before(topology, earlier.failed_links);
  Failures failures(before, since);
  Division division(before, failures, demand, options.paths);
  Demand moved{demand.endpoints, {}, {}};
  std::vector<PlannedFlow> flows;
  std::vector<size_t> moved_flows;
  flows.reserve(demand.flows.size());
  for (const FlowDemand& flow : demand.flows) {
    const auto found =
        earlier.paths.find({demand.endpoints[flow.from].host, demand.endpoints[flow.to].host});
    const bool kept = found != earlier.paths.end() && division.keep(flow, found->second);
    flows.push_back({flow, kept ? found->second : std::vector<PlannedPath>()});
    if (kept) continue;
    moved_flows.push_back(flows.size() - 1);
    moved.flows.push_back(flow);
  }
  moved.background.assign(division.loads().all().begin(), division.loads().all().end());
  if (moved.flows.empty()) {
    PathPlan plan;
    plan.paths = options.paths;
    plan.planned = {division.loads().longest_between(), division.loads().longest_of_nics()};
    plan.ecmp = plan.spraying = plan.planned;
    plan.kept = flows.size();
    plan.flows = std::move(flows);
    return plan;
  }
  for (const uint32_t cable : earlier.failed_links) before.set_down(cable, false);
  for (const uint32_t cable : options.failed_links) before.set_down(cable, true);
  Result<PathPlan> plan = plan_on(before, moved, options);
  if (!plan) return plan;
  for (size_t i = 0; i < moved_flows.size(); ++i) {
    flows[moved_flows[i]] = std::move(plan->flows[i]);
  }
  for (LongestTimes* const each : {&plan->ecmp, &plan->spraying, &plan->planned}) {
    each->between_switches = std::max(each->between_switches, division.loads().longest_between());
    each->of_nics = std::max(each->of_nics, division.loads().longest_of_nics());
  }
  if (plan->no_gain == NoGain::kGains && plan->planned.longest() >= plan->ecmp.longest()) {
    plan->no_gain = NoGain::kEven;  // flows that are kept take longest
  }
  plan->kept = flows.size() - moved_flows.size();
  plan->flows = std::move(flows);
  return plan;
}

}  // namespace heddle::planner
