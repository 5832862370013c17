// Supervisor: runs the ranks of a plan (ranks/running_ranks.h), passes signals on, and leaves
// nothing behind. It is two processes: one that looks after the ranks, and the one that the user
// knows, which outlives it. So even where one of them is killed the other cleans up.
#pragma once

#include <string_view>

#include "base/result.h"
#include "launch/plan.h"

namespace heddle::launch {

// Where the supervising process writes what the user should know while the run goes on.
struct RunReporter {
  void (*error)(const Error& error) = nullptr;
  void (*warning)(std::string_view text) = nullptr;
  void (*progress)(std::string_view text) = nullptr;  // of elastic runs
};

// Returns when all have ended: the exit status for the user (see `heddle run --help`). Errors:
// those of starting a rank; kSystem.
Result<int> run_ranks(const RunPlan& plan, RunReporter reporter);

}  // namespace heddle::launch
