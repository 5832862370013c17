// Workload: what the busiest rank of a job computes and sends in a step, and the rate at which the
// network is no slower than the computation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "planner/answer.h"
#include "topology/job.h"

namespace heddle::planner {

// Of a recorded job: of the average rank in all recorded steps, or where there are none, of all
// ranks from the first event to the last.
struct RecordedWaits {
  double exposed_s = 0;   // the caller only waited for communication
  double recorded_s = 0;  // all
  uint64_t steps = 0;     // 0: not known
};

struct WorkloadQuestion {
  topology::Job job;
  double rate_bits_per_s = 400e9;  // of a rank's NICs together
  bool rate_given = true;          // false: it is assumed
  std::vector<std::string> notes;  // what the job leaves out of its source
  RecordedWaits waits;             // zero: the job was not recorded
  std::string recording;           // its path, for advice
};

// Every call sends what its ring (of messages: the message) sends. Errors: kInvalid for a job that
// sends nothing.
Result<Answer> size_workload(const WorkloadQuestion& question);

}  // namespace heddle::planner
