// The plans that `heddle sim` follows: --plan, and those of --replan, each from its time on.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "simulator/flow_run.h"
#include "topology/topology.h"
#include "topology/workload.h"

namespace heddle::cli {

struct FollowedPlans {
  std::string first;               // a file
  std::vector<std::string> later;  // TIME:PLAN
};

// Reads them into `run`, for the selector `plan`; warns of flows and jobs that they lack.
// Connections get the first plan's number of paths, so that its numbers stand for the same
// entropies. Errors: those of read_plan_file(); kInvalid (RoCE NICs, a bad time, another number of
// paths).
Result<void> take_plans(const FollowedPlans& plans, const topology::Topology& topology,
                        const topology::Workload& workload, simulator::FlowRunOptions& run);

}  // namespace heddle::cli
