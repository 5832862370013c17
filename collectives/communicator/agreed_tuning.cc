// AgreedTuning: see agreed_tuning.h.
#include "collectives/communicator/agreed_tuning.h"

#include <string>
#include <utility>

#include "base/log.h"

namespace heddle::collectives {

AgreedTuning::AgreedTuning(engine::Endpoint& endpoint, const Members& members,
                           const CommunicatorOptions& options)
    : endpoint_(endpoint),
      members_(members),
      options_(options),
      chunk_bytes_(options.tuning.chunk_bytes) {
  const Tuning own = members_.rank == 0 ? offered() : options_.tuning;
  agreement_ = std::make_unique<Agreement>(members_.rank, members_.size(), own);
}

// Rank 0's, for the network that it has; in shared memory nothing leaves in bursts. With the costs
// on disk where there are some.
Tuning AgreedTuning::offered() {
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

// --- until the ranks agree ---

Agreement::Step AgreedTuning::begin_step() { return agreement_->begin_step(endpoint_.now()); }

Result<bool> AgreedTuning::end_step() {
  const Result<bool> agreed = agreement_->end_step(endpoint_.now());
  if (!agreed) return agreed;
  const Tuning& sent = *agreement_->tuning();
  if (!has_sizes_) {
    chunk_bytes_ = sent.chunk_bytes;
    burst_payload_bytes_ = sent.burst_payload_bytes;
    has_sizes_ = true;
  }
  if (!*agreed) return false;
  tuning_ = sent;
  if (members_.rank == 0 && tuning_->costs.ranks > 0) keep_table();
  agreement_.reset();
  return true;
}

void AgreedTuning::keep_table() {
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

// --- calls ---

Algorithm AgreedTuning::choose(Collective collective, uint64_t bytes) {
  Choice& latest = choices_[static_cast<size_t>(collective)];
  if (latest.bytes != bytes) {
    latest = {bytes, tuning_->choose(collective, members_.size(), bytes)};
  }
  return latest.algorithm;
}

Shape AgreedTuning::shape_of(const Call& call, std::optional<Algorithm> algorithm) {
  Shape shape;
  shape.collective = call.collective;
  shape.rank = members_.rank;
  shape.size = members_.size();
  shape.root = call.root;
  shape.count = call.count;
  shape.element_bytes = static_cast<uint32_t>(size_of(call.type));
  shape.chunk_bytes = chunk_bytes_;
  shape.burst_payload_bytes = burst_payload_bytes_;
  shape.in_place = call.input == call.output;
  shape.exchange = {call.exchange.send_counts, call.exchange.send_offsets,
                    call.exchange.receive_counts, call.exchange.receive_offsets};
  if (call.group_ranks > 0) {
    shape.group_ranks = group_ranks_of(shape.size, call.group_ranks);
  } else {
    shape.group_ranks = tuning_ ? tuning_->group_ranks_among(shape.size) : shape.size;
  }
  if (call.between_two()) {
    shape.algorithm = Algorithm::kLinear;
  } else if (algorithm) {
    shape.algorithm = *algorithm;
  } else {
    const uint64_t bytes = call.count * shape.element_bytes;
    const bool whole = call.collective == Collective::kAllReduce ||
                       call.collective == Collective::kBroadcast ||
                       call.collective == Collective::kReduce;
    shape.algorithm = choose(call.collective, whole ? bytes : bytes * shape.size);
  }
  return shape;
}

CommunicatorOptions AgreedTuning::options_of_next() const {
  CommunicatorOptions options = options_;
  if (!tuning_) return options;
  options.tuning = *tuning_;
  options.tuning.costs = {};
  options.tuning.group_ranks = 1;  // other ranks are neighbours now
  options.tuning.to_be_measured = false;
  return options;
}

}  // namespace heddle::collectives
