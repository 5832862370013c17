// The memory of a GPU: parts of the answer of size_cluster.h.
#pragma once

#include "planner/answer.h"
#include "planner/job_shape.h"
#include "planner/model_shape.h"
#include "planner/size_cluster.h"

namespace heddle::planner {

// The memory that a GPU needs, by what takes it, beside what it has; advice where it does not fit,
// which makes the answer unsound. `job` is resolved.
void add_memory(const ModelShape& model, const JobShape& job, const ClusterQuestion& question,
                Answer& answer);
// Whether it fits in the GPU's memory; one that is not known holds everything.
bool fits_in_memory(const ModelShape& model, const JobShape& job, const ClusterQuestion& question);
void add_memory_assumptions(const ClusterQuestion& question, Answer& answer);

}  // namespace heddle::planner
