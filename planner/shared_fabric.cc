// See shared_fabric.h.
#include "planner/shared_fabric.h"

#include <algorithm>
#include <cmath>

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

double longest_of_own(const topology::Topology& topology, std::span<const double> own,
                      std::span<const double> others) {
  const Fabric fabric(topology, {});
  double longest = 0;
  for (LinkId link = 0; link < fabric.links() && link < own.size(); ++link) {
    if (own[link] <= 0) continue;
    const double beside = link < others.size() ? others[link] : 0;
    longest = std::max(longest, (own[link] + beside) / fabric.rate(link));
  }
  return longest;
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

std::vector<LinkTime> busiest_links(const topology::Topology& topology,
                                    std::span<const double> loads, size_t count) {
  const Fabric fabric(topology, {});
  std::vector<LinkTime> links;
  for (LinkId link = 0; link < fabric.links() && link < loads.size(); ++link) {
    if (loads[link] <= 0 || !fabric.is_between_switches(link)) continue;
    links.push_back({link, loads[link] / fabric.rate(link)});
  }
  std::stable_sort(links.begin(), links.end(),
                   [](const LinkTime& a, const LinkTime& b) { return a.time_ns > b.time_ns; });
  links.resize(std::min(count, links.size()));
  return links;
}

}  // namespace heddle::planner
