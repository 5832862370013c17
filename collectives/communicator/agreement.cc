// Communicator::Body, fourth part: how all ranks come to choose alike. Call 0 tells rank 0's
// tuning; where it is to be fitted, all make the same few calls next, and rank 0 tells what it made
// of them.
#include <utility>

#include "base/log.h"
#include "collectives/communicator/body.h"
#include "collectives/reduction.h"

namespace heddle::collectives {

void Communicator::Body::begin_agreement() {
  if (members_.rank == 0) offered().write(agreement_.data());
  tell_agreement(next_number_++);
  next_started_ = 1;
}

// Rank 0's, for the network that it has; in shared memory nothing leaves in bursts.
Tuning Communicator::Body::offered() const {
  Tuning tuning = options_.tuning;
  const bool shares = options_.shared_memory != SharedMemory::kNever && members_.share_address();
  tuning.burst_payload_bytes = shares ? 0 : endpoint_.burst_payload_bytes();
  return tuning;
}

void Communicator::Body::tell_agreement(uint64_t number) {
  Call call = {.collective = Collective::kBroadcast,
               .type = DataType::kUint8,
               .count = agreement_.size(),
               .input = members_.rank == 0 ? agreement_.data() : nullptr,
               .output = agreement_.data()};
  start(*lanes_[0], {std::move(call), number, 0, Algorithm::kBinomial}, kFirstLane);
}

// A call of the agreement has ended.
void Communicator::Body::go_on_agreeing() {
  if (fitting_ && fitting_->probe < TuningFit::probes(members_.size())) {
    fitting_->fit.note(fitting_->probe++, endpoint_.now() - fitting_->began);
    begin_probe();
    return;
  }
  Result<Tuning> told = Tuning::read(agreement_.data());
  if (!told) {
    fail_all({told.error().code, members_.rank, told.error().message()});
    return;
  }
  if (!fitting_) {
    chunk_bytes_ = told->chunk_bytes;
    burst_payload_bytes_ = told->burst_payload_bytes;
    resources_->chunks.set_slot_bytes(in_bursts(chunk_bytes_, burst_payload_bytes_));
  }
  if (told->to_be_fitted && !fitting_ && members_.size() > 1) {
    fitting_ = std::make_unique<Fitting>();
    begin_probe();
    return;
  }
  fitting_.reset();
  tuning_ = *told;
  if (members_.rank != 0) return;
  log_info(
      "communicator {:x}: {} ranks, {} ns a small message, {} each that follows at once, {} ns a "
      "large one, {} ps a byte sent, {} to a neighbour, {} reduced",
      members_.communicator, members_.size(), tuning_->latency_ns, tuning_->following_ns,
      tuning_->large_latency_ns, tuning_->send_ps_per_byte, tuning_->ring_ps_per_byte,
      tuning_->reduce_ps_per_byte);
}

void Communicator::Body::begin_probe() {
  Fitting& fitting = *fitting_;
  const uint64_t number = kFirstProbeNumber + fitting.probe;
  fitting.began = endpoint_.now();
  if (fitting.probe == TuningFit::probes(members_.size())) {
    if (members_.rank == 0) end_fitting();
    tell_agreement(number);
    return;
  }
  const TuningFit::Probe probe = TuningFit::probe(fitting.probe);
  float* const data = fitting.data.data();
  const bool in_place = probe.collective == Collective::kAllReduce;
  Call call = {.collective = probe.collective,
               .type = DataType::kFloat32,
               .count = probe.bytes / sizeof(float),
               .input = data,
               .output = in_place ? data : data + fitting.data.size() / 2};
  start(*lanes_[0], {std::move(call), number, 0, probe.algorithm}, kFirstLane);
}

// Rank 0's times count. In simulated time nothing is reduced in no time at all.
void Communicator::Body::end_fitting() {
  Fitting& fitting = *fitting_;
  const uint64_t half = fitting.data.size() / 2;
  float* const data = fitting.data.data();
  const Nanos began = endpoint_.now();
  collectives::reduce(DataType::kFloat32, ReduceOp::kSum, data, data, data + half, half);
  fitting.fit.note_reduction(endpoint_.now() - began, half * sizeof(float));
  Tuning fitted = fitting.fit.fitted(offered(), members_.size());
  fitted.to_be_fitted = false;
  fitted.write(agreement_.data());
}

}  // namespace heddle::collectives
