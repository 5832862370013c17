// Communicator::Body, fourth part: makes the calls of the agreement on a tuning (agreement.h), and
// reads or writes rank 0's table of costs on disk.
#include <utility>

#include "base/log.h"
#include "collectives/communicator/body.h"

namespace heddle::collectives {

void Communicator::Body::begin_agreement() {
  const Tuning own = members_.rank == 0 ? offered() : options_.tuning;
  agreement_ = std::make_unique<Agreement>(members_.rank, members_.size(), own);
  start_agreement_step();
  next_number_ = next_started_ = 1;
}

// Rank 0's, for the network that it has; in shared memory nothing leaves in bursts. With the costs
// on disk where there are some.
Tuning Communicator::Body::offered() {
  Tuning tuning = options_.tuning;
  const bool shares = options_.shared_memory != SharedMemory::kNever && members_.share_address();
  tuning.burst_payload_bytes = shares ? 0 : endpoint_.burst_payload_bytes();
  if (!tuning.to_be_measured || members_.size() < 2 || options_.table_folder.empty()) return tuning;
  fabric_ = fabric_of(endpoint_, members_, options_);
  const std::string path = table_path(options_.table_folder, *fabric_);
  Result<Tuning> read = read_table(path, *fabric_, tuning);
  if (read) return *std::move(read);
  if (read.error().code != ErrorCode::kUnavailable) log_warn("{}", read.error().message());
  return tuning;
}

void Communicator::Body::start_agreement_step() {
  Agreement::Step step = agreement_->begin_step(endpoint_.now());
  start(*lanes_[0], {std::move(step.call), step.number, 0, step.algorithm}, kFirstLane);
}

// A call of the agreement has ended.
void Communicator::Body::go_on_agreeing() {
  const bool first = !agreement_->tuning();
  const Result<bool> agreed = agreement_->end_step(endpoint_.now());
  if (!agreed) {
    fail_all({agreed.error().code, members_.rank, agreed.error().message()});
    return;
  }
  const Tuning& sent = *agreement_->tuning();
  if (first) {
    chunk_bytes_ = sent.chunk_bytes;
    burst_payload_bytes_ = sent.burst_payload_bytes;
    resources_->chunks.set_slot_bytes(in_bursts(chunk_bytes_, burst_payload_bytes_));
  }
  if (!*agreed) return start_agreement_step();
  tuning_ = sent;
  if (members_.rank == 0 && tuning_->costs.ranks > 0) keep_table();
  agreement_.reset();
}

void Communicator::Body::keep_table() {
  log_info("communicator {:x}: {} ranks, costs {}; {} ns a small message, {} ps a byte",
           members_.communicator, members_.size(),
           agreement_->measured() ? "measured" : "as they were", tuning_->latency_ns,
           tuning_->send_ps_per_byte);
  // Under a pinned size of groups no other was tried.
  if (!agreement_->measured() || tuning_->pinned_group_ranks > 0) return;
  if (!fabric_ || !fabric_->lasting) return;
  const std::string path = table_path(options_.table_folder, *fabric_);
  const Result<void> written = write_table(path, *fabric_, *tuning_, TableSource::kShort);
  if (!written) log_debug("{}", written.error().message());
}

}  // namespace heddle::collectives
