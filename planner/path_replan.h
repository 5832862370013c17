// Re-planning after a failure: only the flows that a failed cable can concern move.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "planner/path_plan.h"

namespace heddle::planner {

// A plan that was made before some cables failed.
struct EarlierPlan {
  // Paths of each flow, by sender and receiver (hosts).
  std::map<std::pair<uint32_t, uint32_t>, std::vector<PlannedPath>> paths;
  std::vector<uint32_t> failed_links;  // that it knew of
};

// Plans anew the flows of which a shortest route crosses a cable that has failed since, and those
// that the earlier plan lacks; others keep their paths, and their loads count as others' do. A
// switch that loses a link hashes all its flows anew, so flows move that did not use the cable,
// too. `ecmp` and `spraying` are of the moved flows beside the kept ones. Errors: as plan_paths.
Result<PathPlan> replan_paths(const topology::Topology& topology, const Demand& demand,
                              const PathPlanOptions& options, const EarlierPlan& earlier);

}  // namespace heddle::planner
