// Steps of a recorded job: cuts what its ranks did into steps, of which each is a job by itself
// that can be changed, simulated and run. `heddle plan advise` asks what a change of one is worth.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "planner/params.h"
#include "topology/job.h"

namespace heddle::planner {

// Where a step of a rank begins in its program.
struct StepBegin {
  size_t action = 0;
  Nanos at;      // by the rank's own clock
  Nanos before;  // of a computation that is that action: what belongs to the step before
};

// When a rank came to each action of its program; `steps` are empty where it marked none.
struct RankTrail {
  std::vector<Nanos> at;
  std::vector<StepBegin> steps;
  Nanos ended;
};

struct RecordedSteps {
  std::vector<topology::Job> jobs;  // of each step that counts; a program a rank, run once
  std::vector<Nanos> took;          // of each, the mean of the ranks
  bool marked = true;               // by the program; false: found in the order of its calls
  size_t left_out = 0;  // the first one, the last of enough marked ones, those with other calls
};

// At least this many equal steps are needed, without the first.
using params::kLeastSteps;

// `calls_per_step` above 0 overrides marks. Of steps without marks, the shortest sequence of calls
// that repeats counts. Asynchronous calls that a step does not wait for, it waits for at its end.
// Errors: kInvalid where there are no steps, or fewer than kLeastSteps with the same calls.
Result<RecordedSteps> cut_steps(const topology::Job& recorded, std::vector<RankTrail> trails,
                                uint64_t calls_per_step);

// Of each step that counts, the share in which the average rank did not compute: it waited for
// communication, or for a slower rank.
std::vector<double> waiting_shares(const RecordedSteps& steps);

}  // namespace heddle::planner
