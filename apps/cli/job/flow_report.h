// Reports of flows, simulated or real: completion times and failures.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "simulator/flow_run.h"
#include "topology/workload.h"

namespace heddle::cli {

// Flows and what became of each.
struct Flows {
  std::span<const topology::Flow> flows;
  std::span<const simulator::FlowOutcome> outcomes;
};

// How many arrived, why others did not, and how long they took: some lines; empty without flows.
// `changed`: flows whose bytes arrived other than they were sent. `over`: nothing goes on.
std::string flows_text(const Flows& flows, uint64_t changed, bool over);
// How many took how long, as bars; empty where none arrived.
std::string flow_times_text(const Flows& flows);
// An object with a row for each flow and what they come to; what nothing was measured for is null.
nlohmann::json flows_json(const Flows& flows, uint64_t changed);

}  // namespace heddle::cli
