// See shared_fabric.h.
#include "planner/shared_fabric.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/paths/plan_on.h"
#include "planner/paths/planned_routes.h"
#include "planner/paths/possible_links.h"
#include "planner/paths/route_table.h"
#include "planner/plan_routes.h"

namespace heddle::planner {

std::vector<double> loads_of_plan(const topology::Topology& topology, const Demand& demand,
                                  const PathPlan& plan, std::span<const uint32_t> failed_links) {
  return PlanRoutes({topology, demand, plan.paths, failed_links}).loads(plan.flows);
}

void keep_usable(const topology::Topology& topology, const Demand& demand,
                 std::vector<double>& loads) {
  if (loads.empty()) return;
  const Fabric fabric(topology, {});
  std::vector<bool> usable(loads.size());
  for (LinkId link = 0; link < fabric.links() && link < loads.size(); ++link) {
    usable[link] = fabric.is_between_switches(link);
  }
  for (const FlowDemand& flow : demand.flows) {
    for (const uint32_t end : {flow.from, flow.to}) {
      for (const uint32_t nic : fabric.nics_of(demand.endpoints[end].host)) {
        usable[fabric.egress(nic)] = usable[fabric.ingress(nic)] = true;
      }
    }
  }
  for (size_t link = 0; link < loads.size(); ++link) {
    if (!usable[link]) loads[link] = 0;
  }
}

double share_of_capacity(const topology::Topology& topology, std::span<const double> bytes_per_s,
                         std::span<const LinkId> known) {
  constexpr double kNanosInSecond = 1e9;
  const Fabric fabric(topology, {});
  double carried = 0;
  double possible = 0;
  for (const LinkId link : known) {
    const double rate = fabric.rate(link) * kNanosInSecond;
    if (!fabric.is_between_switches(link) || std::isinf(rate)) continue;
    possible += rate;
    carried += std::min(bytes_per_s[link], rate);
  }
  return possible > 0 ? carried / possible : 0;
}

JobOnFabric::JobOnFabric(const topology::Topology& topology, Demand demand, PathPlanOptions options)
    : fabric_(topology, options.failed_links),
      demand_(std::move(demand)),
      options_(std::move(options)) {
  find_usable();
}

void JobOnFabric::find_usable() {
  const std::vector<Lane> lanes = lanes_of_demand(fabric_, demand_, options_.paths);
  std::vector<SwitchPair> pairs;
  for (const Lane& lane : lanes) {
    const SwitchPair pair{fabric_.switch_of(lane.from_nic), fabric_.switch_of(lane.to_nic)};
    if (pair.from != kNone && pair.to != kNone) pairs.push_back(pair);
  }
  usable_ = possible_links(fabric_, pairs);
  for (const Lane& lane : lanes) {
    usable_[fabric_.egress(lane.from_nic)] = usable_[fabric_.ingress(lane.to_nic)] = 1;
  }
}

void JobOnFabric::keep_usable(std::vector<double>& loads) const {
  for (size_t link = 0; link < loads.size() && link < usable_.size(); ++link) {
    if (usable_[link] == 0) loads[link] = 0;
  }
}

Result<PathPlan> JobOnFabric::plan_beside(std::vector<double> others, uint32_t threads) {
  options_.threads = threads;
  demand_.background = std::move(others);
  return plan_on(fabric_, demand_, options_);
}

std::vector<double> JobOnFabric::loads_of(const PathPlan& plan) {
  return planner::loads_of({fabric_, demand_, plan.paths}, plan.flows);
}

double JobOnFabric::longest(std::span<const double> own, std::span<const double> others) const {
  return longest_if(own, others, [](LinkId) { return true; });
}

double JobOnFabric::longest_of_nics(std::span<const double> own,
                                    std::span<const double> others) const {
  return longest_if(own, others,
                    [this](LinkId link) { return !fabric_.is_between_switches(link); });
}

template <typename Counts>
double JobOnFabric::longest_if(std::span<const double> own, std::span<const double> others,
                               Counts counts) const {
  double longest = 0;
  for (LinkId link = 0; link < fabric_.links() && link < own.size(); ++link) {
    if (own[link] <= 0 || !counts(link)) continue;
    const double beside = link < others.size() ? others[link] : 0;
    longest = std::max(longest, (own[link] + beside) / fabric_.rate(link));
  }
  return longest;
}

std::vector<LinkTime> JobOnFabric::busiest_links(std::span<const double> loads,
                                                 size_t count) const {
  std::vector<LinkTime> links;
  for (LinkId link = 0; link < fabric_.links() && link < loads.size(); ++link) {
    if (loads[link] <= 0 || !fabric_.is_between_switches(link)) continue;
    links.push_back({link, loads[link] / fabric_.rate(link)});
  }
  std::stable_sort(links.begin(), links.end(),
                   [](const LinkTime& a, const LinkTime& b) { return a.time_ns > b.time_ns; });
  links.resize(std::min(count, links.size()));
  return links;
}

}  // namespace heddle::planner
