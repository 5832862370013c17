// Other orders of a job's ranks on its hosts, and other hosts of the fabric.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/cli/plan/advise/recorded.h"
#include "planner/path_plan.h"

namespace heddle::cli {

struct Placement {
  std::string name;
  std::vector<uint32_t> hosts;  // by rank
  bool moves = false;           // to hosts that the job does not have
};

// Each once; without the one that there is. `demand`: what the job sends.
std::vector<Placement> placements_of(const RecordedSetting& setting, const planner::Demand& demand);

// "h0,h3,h1".
std::string host_list(const std::vector<uint32_t>& hosts, const topology::Topology& topology);

}  // namespace heddle::cli
