// Cluster: how much network a training job needs: the time of its step, the bus bandwidth at which
// the exchange of gradients hides beside the computation, how it scales with more replicas, on a
// fabric without and with oversubscription, and whether it fits in the memory of a GPU.
#pragma once

#include "base/result.h"
#include "planner/answer.h"
#include "planner/job_shape.h"
#include "planner/model_shape.h"
#include "planner/presets.h"
#include "planner/site_link.h"

namespace heddle::planner {

struct ClusterQuestion {
  JobShape job;
  Gpu gpu;
  FabricPreset fabric;
  double kernel_share = 0;         // of the GPU's achievable operations; 0: the default
  double overlap = 1;              // share of the possible computation that exchanges run beside
  double base_rtt_s = 10e-6;       // round trip of hosts and switches of a site
  double bucket_bytes = 25 << 20;  // of gradients or parameters that are exchanged at once
  double optimizer_bytes = 12;     // of a parameter: Adam's two moments and a copy, in float32
  bool attention_scores = false;   // kept for the backward pass
  SiteLink site_link;              // where the job has several sites
};

// Not sound: the job does not fit in the memory of a GPU. Errors: kInvalid, those of resolve(); a
// model without a shape.
Result<Answer> size_cluster(const ModelShape& model, const ClusterQuestion& question);

}  // namespace heddle::planner
