// Which hosts should exchange their ranks, so that less traffic crosses the switches between
// leaves: a descent over pairs (Kernighan and Lin, 1970, without their sequences). Flows move with
// their ranks; the fabric stays.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "planner/path_plan.h"
#include "topology/topology.h"

namespace heddle::planner {

struct RankSwap {
  uint32_t one = 0;  // hosts whose ranks change places
  uint32_t other = 0;
  double crossing = 0;  // bytes times links between switches, with this swap and those before
};

struct RankOrder {
  double crossing = 0;  // as it is, likewise
  std::vector<RankSwap> swaps;
  // The host that the ranks of each host go to, with all swaps.
  std::vector<uint32_t> to;
};

// At most `most` swaps, each the one that saves most. None: no swap of two saves anything. Errors:
// kInvalid with more than 4,096 hosts that send or receive.
Result<RankOrder> order_ranks(const topology::Topology& topology, const Demand& demand,
                              uint32_t most);

// The demand after hosts' ranks went to `to`.
Demand reordered(const Demand& demand, const std::vector<uint32_t>& to);

}  // namespace heddle::planner
