// See rank_report.h.
#include "apps/cli/plan/rank_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "apps/cli/plan/params.h"
#include "base/version.h"
#include "simulator/flow_run.h"

namespace heddle::cli {
namespace {

double last_arrival_us(const topology::Topology& topology, const planner::Demand& demand,
                       uint64_t scale) {
  topology::Workload workload;
  for (const planner::FlowDemand& flow : demand.flows) {
    const uint32_t from = demand.endpoints[flow.from].host;
    const uint32_t to = demand.endpoints[flow.to].host;
    if (from == to) continue;
    workload.flows.push_back({.id = workload.flows.size() + 1,
                              .from = from,
                              .to = to,
                              .bytes = {std::max<uint64_t>(flow.bytes / scale, 1)}});
  }
  simulator::FlowRun run(topology, workload, {.paths = 64});
  while (run.advance(seconds(10), 100'000)) {
  }
  Nanos last;
  for (const simulator::FlowOutcome& outcome : run.outcomes()) {
    if (outcome.received != Nanos::never()) last = std::max(last, outcome.received);
  }
  return static_cast<double>(last.count) * 1e-3;
}

double saved(double before, double after) { return before > 0 ? 100 * (1 - after / before) : 0; }

}  // namespace

Result<SimulatedOrder> simulate_orders(const topology::Topology& topology,
                                       const planner::Demand& demand, uint32_t most_swaps) {
  SimulatedOrder simulated;
  uint64_t largest = 0;
  for (const planner::FlowDemand& flow : demand.flows) largest = std::max(largest, flow.bytes);
  simulated.scale = std::max<uint64_t>(1, largest / params::plan::kLargestFlow);
  Result<planner::RankOrder> order = planner::order_ranks(topology, demand, most_swaps);
  if (!order) return fail(order.error());
  simulated.order = std::move(*order);
  simulated.before_us = last_arrival_us(topology, demand, simulated.scale);
  std::vector<uint32_t> to(topology.hosts.size());
  for (uint32_t i = 0; i < to.size(); ++i) to[i] = i;
  for (const planner::RankSwap& swap : simulated.order.swaps) {
    for (uint32_t& host : to) {
      if (host == swap.one) {
        host = swap.other;
      } else if (host == swap.other) {
        host = swap.one;
      }
    }
    simulated.after_us.push_back(
        last_arrival_us(topology, planner::reordered(demand, to), simulated.scale));
  }
  return simulated;
}

std::string ranks_text(const SimulatedOrder& simulated, const topology::Topology& topology) {
  const planner::RankOrder& order = simulated.order;
  if (order.swaps.empty()) {
    return "No gain: no swap of two hosts' ranks takes traffic off the links between switches.\n";
  }
  std::string text =
      fmt::format("{:28}{:>16}{:>20}\n", "swap the ranks of", "crossing traffic", "simulated time");
  text += fmt::format("{:28}{:>16}{:>17.1f} us\n", "  (as it is)", "100%", simulated.before_us);
  for (size_t i = 0; i < order.swaps.size(); ++i) {
    const planner::RankSwap& swap = order.swaps[i];
    text += fmt::format(
        "{:28}{:>15.1f}%{:>17.1f} us\n",
        fmt::format("  {} and {}", topology.hosts[swap.one].name, topology.hosts[swap.other].name),
        100 * swap.crossing / order.crossing, simulated.after_us[i]);
  }
  const double last = saved(simulated.before_us, simulated.after_us.back());
  return text + (last >= 1 ? fmt::format("Together they save {:.1f}% of the time.\n", last)
                           : "No gain: less traffic crosses, and the flows end no earlier.\n");
}

nlohmann::json ranks_json(const SimulatedOrder& simulated, const topology::Topology& topology) {
  const planner::RankOrder& order = simulated.order;
  nlohmann::json swaps = nlohmann::json::array();
  for (size_t i = 0; i < order.swaps.size(); ++i) {
    swaps.push_back(
        {{"hosts",
          {topology.hosts[order.swaps[i].one].name, topology.hosts[order.swaps[i].other].name}},
         {"crossing_bytes", order.swaps[i].crossing},
         {"simulated_us", simulated.after_us[i]}});
  }
  return {{"heddle", kVersion},
          {"scale", simulated.scale},
          {"crossing_bytes", order.crossing},
          {"simulated_us", simulated.before_us},
          {"swaps", std::move(swaps)}};
}

}  // namespace heddle::cli
