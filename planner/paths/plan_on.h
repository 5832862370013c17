// Planning on a fabric that the caller has made: plan_paths() makes one for each plan, and
// replan_paths() goes on with the one by which it found the flows that move.
#pragma once

#include "planner/path_plan.h"
#include "planner/paths/fabric.h"

namespace heddle::planner {

// As plan_paths(). The fabric's failed links count, not those of the options.
Result<PathPlan> plan_on(Fabric& fabric, const Demand& demand, const PathPlanOptions& options);

}  // namespace heddle::planner
