// StepTime: how long a training step takes: computation, communication of activations that it waits
// for, the pipeline's bubble, and what of the exchange of gradients does not fit beside it: its
// last bucket at least, which begins when the computation ends.
#pragma once

#include "planner/job_shape.h"
#include "planner/model_shape.h"
#include "planner/presets.h"
#include "planner/site_link.h"
#include "planner/size_distance.h"
#include "planner/size_traffic.h"
#include "planner/sizing/params.h"

namespace heddle::planner {

// GPUs and NICs, and what they reach of their data sheets.
struct Machine {
  Gpu gpu;
  double nic_bits_per_s = 400e9;   // of one GPU's NICs, in one direction
  double oversubscription = 1;     // of the fabric between leaves
  double kernel_share = 0;         // of the GPU's achievable operations; 0: kKernelShare
  double overlap = 1;              // share of the possible computation that exchanges run beside
  double base_rtt_s = 10e-6;       // round trip without cables between sites
  double bucket_bytes = 25 << 20;  // of gradients or parameters that are exchanged at once
  SiteLink site_link;
};

using params::sizing::kKernelShare;
using params::sizing::kNvlinkShare;
// Payload of a full RoCEv2 packet: 4,096 of 4,096 + 82 bytes.
inline constexpr double kNicShare = 4096.0 / 4178;

class StepTime {
 public:
  // `job` is resolved; `machine` outlives it.
  StepTime(const ModelShape& model, const JobShape& job, const Machine& machine);

  double flops() const { return flops_; }  // of a GPU, without recomputation
  double compute_flops() const;            // with it
  double flops_per_s_possible() const;     // of a GPU's kernels
  double compute_s() const;
  double layers_s() const { return layers_s_; }  // tensor, context, expert: waited for
  double bubble_share() const;                   // of the two together
  double data_s() const { return data_s_; }      // gradients and parameters, alone
  double data_nic_bytes() const { return data_nic_bytes_; }
  double window_share() const;  // of the first two, which data_s() runs beside
  double window_s() const;
  double buckets() const { return buckets_; }       // of a step
  double last_bucket_s() const { return last_s_; }  // one bucket of each kind of exchange
  bool fits() const { return data_s_ <= window_s(); }
  double exposed_s() const;
  double step_s() const;
  double alone_s() const;  // a step that exchanges nothing with other replicas
  // Of the published kind: operations without recomputation over the time of a step.
  double flops_per_s() const { return flops_ / step_s(); }
  double tokens_per_s() const;  // of the job

  // A movement's, alone: the slowest of these, and round trips between sites.
  double seconds(const Movement& movement) const;
  double nvlink_s(const Movement& movement) const;
  double nic_s(const Movement& movement) const;
  double site_s(const Movement& movement) const;    // without round trips
  double buckets(const Movement& movement) const;   // in a step
  double bucket_s(const Movement& movement) const;  // of one of them, all of equal size
  // Of exchanges with other sites that wait for each other.
  double site_round_trips(const Movement& movement) const;
  double site_round_trip_s() const;
  double gpus_of_site() const;
  // The link between two sites as one that all GPUs of a site share.
  DistanceQuestion site_question() const;
  // With all that a leaf's NICs send crossing the fabric.
  double nic_bits_per_s() const;

 private:
  const JobShape job_;
  const Machine& machine_;
  double flops_ = 0;
  double layers_s_ = 0;
  double data_s_ = 0;
  double data_nic_bytes_ = 0;
  double buckets_ = 0;
  double last_s_ = 0;
};

}  // namespace heddle::planner
