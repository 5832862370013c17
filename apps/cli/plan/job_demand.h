// What the ranks of a job send to each other: every call by the formula of its algorithm.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "planner/path_plan.h"
#include "topology/job.h"
#include "topology/topology.h"

namespace heddle::cli {

// Bytes by sender and receiver, which are hosts.
using HostBytes = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;

// Adds what ranks on different hosts send to each other in all steps. Calls without an algorithm
// have the one that simulated ranks choose by the fabric's latency and the rate of the hosts'
// links.
void add_job(const topology::Job& job, const topology::Topology& topology, HostBytes& bytes);

// What a plan of paths is made for: a flow for each two hosts.
planner::Demand demand_of(const HostBytes& bytes, const topology::Topology& topology);

}  // namespace heddle::cli
