// The plan file: JSON with the paths and shares of each connection of a plan, which `heddle plan`
// writes and `heddle sim --plan` follows. docs/reference/json.md has the fields.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "planner/path_plan.h"
#include "topology/topology.h"
#include "transport/endpoint.h"

namespace heddle::cli {

// The version of the schema that this build writes and reads.
inline constexpr uint64_t kPlanFileVersion = 1;

nlohmann::json plan_document(const planner::PathPlan& plan, const planner::Demand& demand,
                             const topology::Topology& topology);

struct PlanFile {
  uint16_t paths = 0;  // of a connection
  // By sender and receiver, which are hosts.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<transport::PlannedShare>> shares;
};

// Errors: kUnavailable if it cannot be read; kVersion for a plan of another version; kInvalid for
// other content than a plan's, or one of another fabric.
Result<PlanFile> read_plan_file(const std::string& path, const topology::Topology& topology);

}  // namespace heddle::cli
