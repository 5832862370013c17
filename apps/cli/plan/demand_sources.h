// What `heddle plan` places: the flows and jobs of a workload file, a communication matrix, or a
// recording, and the loads of other plans beside it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "planner/path_plan.h"
#include "topology/topology.h"

namespace heddle::cli {

struct DemandSources {
  std::string workload;   // a file; empty, as the others: not this one
  std::string matrix;     // CSV
  std::string recording;  // a folder
  uint64_t seed = 1;      // of the workload's random choices
};

struct PlanDemand {
  planner::Demand demand;
  std::vector<uint32_t> failed_links;  // that the workload names
  std::vector<std::string> notes;      // what was left out
};

// Errors: those of the files; kInvalid where nothing is sent between two hosts of the topology.
Result<PlanDemand> read_demand(const DemandSources& sources, const topology::Topology& topology);

}  // namespace heddle::cli
