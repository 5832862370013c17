// What became of a job, simulated or run: its steps and its calls. Times count from time 0 of the
// run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "topology/job.h"

namespace heddle::jobs {

// A call over all ranks that made it.
struct CallOutcome {
  topology::CallKind call = topology::CallKind::kBarrier;
  std::optional<topology::CallAlgorithm> algorithm;
  uint32_t communicator = 0;  // of the job
  uint32_t step = 0;
  uint64_t bytes = 0;             // as in topology::Action, but in whole elements
  Nanos called = Nanos::never();  // by the first rank
  Nanos last_called;              // and by the last
  Nanos ended;                    // on the last rank so far
  uint32_t ranks_ended = 0;
};

// A step over all ranks.
struct StepOutcome {
  Nanos begun = Nanos::never();  // by the first rank
  Nanos ended;                   // by the last so far
  Nanos computed_most;           // by a rank
  Nanos computed;                // by all of them together
  Nanos exposed;                 // waits of all of them together: what was not hidden
  Nanos exposed_most;
  uint32_t ranks_ended = 0;
};

struct JobOutcome {
  std::vector<StepOutcome> steps;               // as far as one has begun
  std::vector<std::vector<CallOutcome>> calls;  // of each communicator, in the order of the calls
  uint64_t messages = 0;                        // between two ranks, received
  uint64_t message_bytes = 0;
  uint32_t ranks_done = 0;
  std::string error;  // of the first rank that failed; empty: none
  Nanos failed_at = Nanos::never();
};

}  // namespace heddle::jobs
