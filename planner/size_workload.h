// Workload: what the busiest rank of a job computes and sends in a step, and the rate at which the
// network is no slower than the computation.
#pragma once

#include "base/result.h"
#include "planner/answer.h"
#include "topology/job.h"

namespace heddle::planner {

struct WorkloadQuestion {
  topology::Job job;
  double rate_bits_per_s = 400e9;  // of a rank's NICs together
  std::vector<std::string> notes;  // what the job leaves out of its source
};

// Every call sends what its ring (of messages: the message) sends. Errors: kInvalid for a job that
// sends nothing.
Result<Answer> size_workload(const WorkloadQuestion& question);

}  // namespace heddle::planner
