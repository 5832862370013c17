// See step_time.h.
#include "planner/sizing/step_time.h"

#include <algorithm>
#include <cmath>

#include "planner/sizing/link_goodput.h"
#include "planner/sizing/movements.h"

namespace heddle::planner {

StepTime::StepTime(const ModelShape& model, const JobShape& job, const Machine& machine)
    : job_(job), machine_(machine) {
  flops_ = training_flops_of_token(model, job.sequence) *
           static_cast<double>(job.sequence * job.batch) / static_cast<double>(job.gpus);
  for (const Movement& each : awaited_movements(model, job)) layers_s_ += seconds(each);
  std::vector<Movement> data;
  add_data_movements(model, job, data);
  for (const Movement& each : data) {
    data_s_ += seconds(each);
    data_nic_bytes_ += nic_bytes(each);
    buckets_ += buckets(each);
    last_s_ += bucket_s(each);
  }
}

double StepTime::nic_bits_per_s() const {
  return machine_.nic_bits_per_s * kNicShare / machine_.oversubscription;
}

double StepTime::nvlink_s(const Movement& movement) const {
  const double nvlink = machine_.gpu.nvlink_bits_per_s * kNvlinkShare;
  return nvlink > 0 ? 8 * nvlink_bytes(movement) / nvlink : 0;
}

double StepTime::nic_s(const Movement& movement) const {
  return 8 * nic_bytes(movement) / nic_bits_per_s();
}

double StepTime::gpus_of_site() const { return static_cast<double>(job_.gpus / job_.sites); }

DistanceQuestion StepTime::site_question() const {
  const SiteLink& link = machine_.site_link;
  DistanceQuestion question{.km = link.km,
                            .base_rtt_s = machine_.base_rtt_s,
                            .link_bits_per_s = link.bits_per_s,
                            .queue_pairs = gpus_of_site(),
                            .loss = link.loss,
                            .go_back_n = link.go_back_n};
  question.message_bytes = question.mtu_bytes;
  const double fills = link_capacity(question) / 8 * site_round_trip_s() / gpus_of_site();
  const double window =
      link.gpu_window_bytes > 0 ? link.gpu_window_bytes : fills + question.mtu_bytes;
  question.outstanding = window / question.mtu_bytes;
  return question;
}

double StepTime::site_round_trip_s() const {
  return machine_.base_rtt_s + 2 * machine_.site_link.km * kSecondsAKm;
}

double StepTime::site_s(const Movement& movement) const {
  if (job_.sites == 1) return 0;
  const double goodput = link_goodput(site_question(), machine_.site_link.km);
  return 8 * gpus_of_site() * site_bytes(movement) / goodput;
}

// A ring of S sites has 2 (S - 1) passes from site to site for an all-reduce, half for a gather.
double StepTime::site_round_trips(const Movement& movement) const {
  const double passes = movement.kind == MovementKind::kAllReduce ? 2 : 1;
  return movement.calls * passes * static_cast<double>(movement.place.sites - 1) / 2;
}

double StepTime::seconds(const Movement& movement) const {
  return std::max({nvlink_s(movement), nic_s(movement), site_s(movement)}) +
         site_round_trips(movement) * site_round_trip_s();
}

double StepTime::buckets(const Movement& movement) const {
  return movement.calls * std::ceil(movement.buffer_bytes / machine_.bucket_bytes);
}

// Buckets share what a call takes, and each waits for a call's round trips between sites.
double StepTime::bucket_s(const Movement& movement) const {
  const double waiting_s = site_round_trips(movement) * site_round_trip_s();
  return (seconds(movement) - waiting_s) / buckets(movement) + waiting_s / movement.calls;
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
  if (job_.zero_stage == 3) return machine_.overlap;
  const double of_microbatch = machine_.overlap / static_cast<double>(job_.microbatches);
  return job_.zero_stage > 0 ? of_microbatch : of_microbatch * 2 / 3;
}

double StepTime::window_s() const { return window_share() * (compute_s() + layers_s_); }

// The first bucket waits for its share of the computation, the last one for all of it: the step of
// size_overlap.h, with buckets of equal size.
double StepTime::exposed_s() const {
  if (buckets_ == 0) return 0;
  return std::max(last_s_, data_s_ - window_s() + window_s() / buckets_);
}

double StepTime::alone_s() const { return (compute_s() + layers_s_) * (1 + bubble_share()); }

double StepTime::step_s() const { return alone_s() + exposed_s(); }

double StepTime::tokens_per_s() const {
  return static_cast<double>(job_.batch * job_.sequence) / step_s();
}

}  // namespace heddle::planner
