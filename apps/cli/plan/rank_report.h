// `heddle plan --swap-ranks`: swaps of ranks, and what a simulation makes of each.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "planner/rank_order.h"
#include "topology/topology.h"

namespace heddle::cli {

struct SimulatedOrder {
  planner::RankOrder order;
  uint64_t scale = 1;            // flows are simulated with their bytes over this
  double before_us = 0;          // time of the last flow, as it is
  std::vector<double> after_us;  // with each swap and those before it
};

// Simulates the demand as it is and after each swap of the order, with adaptive paths. Errors:
// those of order_ranks().
Result<SimulatedOrder> simulate_orders(const topology::Topology& topology,
                                       const planner::Demand& demand, uint32_t most_swaps);

std::string ranks_text(const SimulatedOrder& simulated, const topology::Topology& topology);
nlohmann::json ranks_json(const SimulatedOrder& simulated, const topology::Topology& topology);

}  // namespace heddle::cli
