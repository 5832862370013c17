// See step_time.h.
#include "planner/sizing/step_time.h"

#include <algorithm>

#include "planner/sizing/movements.h"

namespace heddle::planner {

StepTime::StepTime(const ModelShape& model, const JobShape& job, const Machine& machine)
    : job_(job), machine_(machine) {
  flops_ = training_flops_of_token(model, job.sequence) *
           static_cast<double>(job.sequence * job.batch) / static_cast<double>(job.gpus);
  std::vector<Movement> layers;
  add_layer_movements(model, job, layers);
  for (const Movement& each : layers) {
    // A stage sends while it computes the next microbatch.
    if (each.kind != MovementKind::kPointToPoint) layers_s_ += seconds(each);
  }
  std::vector<Movement> data;
  add_data_movements(model, job, data);
  for (const Movement& each : data) {
    data_s_ += seconds(each);
    data_nic_bytes_ += nic_bytes(each);
  }
}

double StepTime::nic_bits_per_s() const {
  return machine_.nic_bits_per_s * kNicShare / machine_.oversubscription;
}

double StepTime::seconds(const Movement& movement) const {
  const double nvlink = machine_.gpu.nvlink_bits_per_s * kNvlinkShare;
  const double inside = nvlink > 0 ? 8 * nvlink_bytes(movement) / nvlink : 0;
  return std::max(inside, 8 * nic_bytes(movement) / nic_bits_per_s());
}

double StepTime::compute_flops() const { return job_.recompute ? flops_ * 4 / 3 : flops_; }

double StepTime::flops_per_s_possible() const {
  const Gpu& gpu = machine_.gpu;
  const double share = machine_.kernel_share > 0 ? machine_.kernel_share : kKernelShare;
  return (gpu.achievable_flops > 0 ? gpu.achievable_flops : gpu.peak_flops) * share;
}

double StepTime::compute_s() const { return compute_flops() / flops_per_s_possible(); }

double StepTime::bubble_share() const {
  return static_cast<double>(job_.pipeline - 1) /
         static_cast<double>(job_.chunks * job_.microbatches);
}

// DDP: the backward pass of the last microbatch, two thirds of its time; ZeRO 1 and 2 gather
// parameters during the first forward pass; ZeRO 3 gathers and reduces all the time.
double StepTime::window_share() const {
  if (job_.zero_stage == 3) return 1;
  const double of_microbatch = 1 / static_cast<double>(job_.microbatches);
  return job_.zero_stage > 0 ? of_microbatch : of_microbatch * 2 / 3;
}

double StepTime::window_s() const { return window_share() * (compute_s() + layers_s_); }

double StepTime::exposed_s() const { return std::max(0.0, data_s_ - window_s()); }

double StepTime::step_s() const {
  return (compute_s() + layers_s_) * (1 + bubble_share()) + exposed_s();
}

double StepTime::tokens_per_s() const {
  return static_cast<double>(job_.batch * job_.sequence) / step_s();
}

}  // namespace heddle::planner
