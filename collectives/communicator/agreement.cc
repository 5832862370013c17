// Agreement: see agreement.h.
#include "collectives/communicator/agreement.h"

namespace heddle::collectives {

Agreement::Agreement(uint32_t rank, uint32_t ranks, const Tuning& offered)
    : rank_(rank), ranks_(ranks) {
  if (rank_ != 0) return;
  Tuning first = offered;
  first.to_be_measured &= ranks_ > 1;
  offer(first, first.to_be_measured ? 1 : 0);
}

void Agreement::offer(const Tuning& tuning, size_t next_group) {
  tuning.write(message_.data());
  message_[kNextGroupAt] = static_cast<std::byte>(next_group);
}

Agreement::Step Agreement::begin_step(Nanos now) {
  const uint64_t number = steps_ == 0 ? 0 : kFirstNumber + steps_;
  ++steps_;
  call_began_ = now;
  if (group_) {
    Call call = measurement_->call(*group_, call_, buffer_.data());
    const Algorithm algorithm = measurement_->row(*group_, call_).algorithm;
    return {std::move(call), algorithm, number};
  }
  Call call = {.collective = Collective::kBroadcast,
               .type = DataType::kUint8,
               .count = message_.size(),
               .input = rank_ == 0 ? message_.data() : nullptr,
               .output = message_.data(),
               .exchange = {}};
  return {std::move(call), Algorithm::kBinomial, number};
}

Result<bool> Agreement::end_step(Nanos now) {
  if (!group_) return end_broadcast(now);
  measurement_->note(*group_, call_, now - call_began_);
  if (++call_ == measurement_->calls(*group_)) end_group(now);
  return false;
}

Result<bool> Agreement::end_broadcast(Nanos now) {
  Result<Tuning> read = Tuning::read(message_.data());
  if (!read) return fail(read.error());
  tuning_ = *read;
  const auto next = static_cast<size_t>(message_[kNextGroupAt]);
  if (next == 0) return true;
  if (!measurement_) {
    const auto groupings = groupings_of(ranks_, tuning_->pinned_group_ranks);
    measurement_ = std::make_unique<Measurement>(ranks_, short_measurement(ranks_, groupings));
    buffer_.resize(measurement_->buffer_bytes() / sizeof(float));
    measurement_began_ = now;
  }
  if (next > measurement_->groups()) {
    return fail(ErrorCode::kVersion, "cannot measure as rank 0 does",
                "it names calls that are not known here", "run the same version on all ranks");
  }
  measurement_->use_groups(tuning_->group_ranks_among(ranks_));
  group_ = next - 1;
  call_ = 0;
  group_began_ = now;
  return false;
}

// Rank 0's times count.
void Agreement::end_group(Nanos now) {
  const size_t ended = *group_;
  group_.reset();
  if (rank_ != 0) return;
  const std::optional<size_t> next =
      measurement_->after(ended, now - group_began_, now - measurement_began_);
  tuning_->group_ranks = measurement_->best_groups();
  if (next) return offer(*tuning_, *next + 1);
  measured_ = measurement_->sound();
  offer(measurement_->result(*tuning_), 0);
}

}  // namespace heddle::collectives
