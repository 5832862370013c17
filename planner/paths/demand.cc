// Demand from a workload: see demand.h.
#include "planner/paths/demand.h"

#include <map>
#include <utility>

namespace heddle::planner {

Demand demand_of_flows(const topology::Workload& workload, const topology::Topology& topology) {
  Demand demand;
  demand.endpoints.reserve(topology.hosts.size());
  for (uint32_t host = 0; host < topology.hosts.size(); ++host) {
    demand.endpoints.push_back({.host = host});
  }
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> sums;
  for (const topology::Flow& flow : workload.flows) {
    sums[{flow.from, flow.to}] += flow.bytes.count;
  }
  demand.flows.reserve(sums.size());
  for (const auto& [pair, bytes] : sums) demand.flows.push_back({pair.first, pair.second, bytes});
  return demand;
}

}  // namespace heddle::planner
