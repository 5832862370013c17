// Plan inputs: what `heddle plan` and `heddle plan lease` plan from, as options and as read: the
// fabric, what is sent, cables that are down, addresses.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "apps/cli/plan/addresses.h"
#include "apps/cli/plan/background.h"
#include "apps/cli/plan/demand_sources.h"
#include "base/result.h"
#include "planner/path_plan.h"
#include "topology/topology.h"

namespace heddle::cli {

struct PlanInputs {
  std::string topology;
  DemandSources sources;
  std::vector<std::string> failed;
  std::string addresses;
  bool lab = false;
  std::string background;  // CSV
  std::string period;
  planner::PathPlanOptions plan;
};

struct ReadPlanInputs {
  topology::Topology topology;
  planner::Demand demand;
  std::vector<std::string> notes;    // what was left out
  planner::PathPlanOptions options;  // with the cables that are down
  NamedAddresses addresses;
  BackgroundSource background;
};

void add_plan_inputs(CLI::App& command, PlanInputs& inputs);

// That a plan's file is none of the inputs, which it would replace. Errors: kInvalid.
Result<void> check_output(const PlanInputs& inputs, const std::string& output);

// Errors: those of the files; kInvalid where no source of what is sent is given.
Result<ReadPlanInputs> read_plan_inputs(const PlanInputs& inputs);

}  // namespace heddle::cli
