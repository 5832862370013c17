// What a cluster needs besides NICs, and what limits the exchange of gradients: parts of the answer
// of size_cluster.h.
#pragma once

#include <vector>

#include "planner/answer.h"
#include "planner/job_shape.h"
#include "planner/size_cluster.h"
#include "planner/sizing/step_time.h"

namespace heddle::planner {

// A resolved job, its exchange of gradients and parameters, and its step.
struct ClusterPlan {
  const ClusterQuestion& question;
  const JobShape& job;
  const std::vector<Movement>& data;
  const StepTime& step;
};

// Bisection, and the buffer of a port.
void add_fabric_needs(const ClusterPlan& plan, Answer& answer);
// The links between sites: goodput, the rate that is needed, windows, buffers, distance.
void add_site_needs(const ClusterPlan& plan, Answer& answer);
// The table "limits": NVLink, NICs and links between sites, each alone.
void add_limits(const ClusterPlan& plan, Answer& answer);
// The last step: reads the figures that are there.
void add_cluster_advice(const ClusterPlan& plan, Answer& answer);

}  // namespace heddle::planner
