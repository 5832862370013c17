// Supervisor: starts the ranks of a run, passes signals on, ends the others when one fails, and
// leaves nothing behind. It is two processes: one that looks after the ranks, and the one that the
// user knows, which outlives it. So even where one of them is killed the other cleans up.
#pragma once

#include "apps/cli/run/plan.h"
#include "base/result.h"

namespace heddle::cli {

// Returns when all have ended: the exit status for the user (see `heddle run --help`). Errors:
// those of starting a rank; kSystem.
Result<int> run_ranks(const RunPlan& plan);

}  // namespace heddle::cli
