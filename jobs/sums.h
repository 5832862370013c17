// What steps and calls of a job come to, for reports and pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "jobs/outcome.h"
#include "topology/job.h"

namespace heddle::jobs {

// Of each step that all ranks have ended: from the end of the one before, so that steps add up to
// the whole.
std::vector<Nanos> step_times(const topology::Job& job, const JobOutcome& outcome);
// The middle one, of two the lesser; CHECKs that there is one.
Nanos median(std::vector<Nanos> times);

// Calls of one operation, algorithm and size among as many ranks, that have ended on all of these.
struct CallsAlike {
  topology::CallKind call = topology::CallKind::kBarrier;
  std::optional<topology::CallAlgorithm> algorithm;
  uint64_t bytes = 0;
  uint32_t ranks = 0;
  size_t count = 0;
  Nanos least;
  Nanos median;
  Nanos most;
  double bus_bytes_per_s = 0;  // of the median
};
std::vector<CallsAlike> calls_alike(const topology::Job& job, const JobOutcome& outcome);

// The bus bandwidth of a call as nccl-tests define it, in bytes a second. Zero while it has not
// ended on all ranks.
double bus_bytes_per_s(const CallOutcome& call, uint32_t ranks);

}  // namespace heddle::jobs
