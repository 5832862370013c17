// Tables of the step with other replicas and other NICs: parts of the answer of size_cluster.h.
#pragma once

#include "planner/answer.h"
#include "planner/job_shape.h"
#include "planner/model_shape.h"
#include "planner/size_cluster.h"
#include "planner/sizing/step_time.h"

namespace heddle::planner {

Machine machine_of(const ClusterQuestion& question);

// The table "scaling", and its chart: 1, 2, 4 ... replicas, up to those of the job.
void add_scaling(const ModelShape& model, const JobShape& job, const ClusterQuestion& question,
                 Answer& answer);
// The table "rates".
void add_rates_of_nics(const ModelShape& model, const JobShape& job,
                       const ClusterQuestion& question, Answer& answer);

}  // namespace heddle::planner
