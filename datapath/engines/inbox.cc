// See inbox.h.
#include "datapath/engines/inbox.h"

#include <algorithm>
#include <utility>

#include "datapath/datapath.h"
#include "datapath/engines/params.h"

namespace heddle::datapath {

using transport::PayloadAt;
using transport::RxRun;

void HandedRuns::add(const Part& part) {
  const RxRun& from = *part.run;
  starts_.push_back(bytes_.size());
  const bool placed = from.payload_at == PayloadAt::kPlaced;
  for (uint32_t i = part.first; i < part.end; ++i) {
    const size_t bytes = part.bytes_of(i);
    if (!placed) {
      append(from.frame + size_t{i} * from.step(), bytes);
      continue;
    }
    const size_t header = std::min<size_t>(bytes, from.header_bytes);
    append(from.frame + size_t{i} * from.header_bytes, header);
    append(part.payload + size_t{i} * (from.segment_bytes - from.header_bytes), bytes - header);
  }
  RxRun& run = runs_.emplace_back(from);
  run.payload_at = PayloadAt::kFrame;
  run.place = {};
  run.header_bytes = transport::kDataHeaderBytes;
  run.segments = part.end - part.first;
  run.last_segment_bytes = part.bytes_of(part.end - 1);
  if (run.segments == 1) run.segment_bytes = run.last_segment_bytes;
  run.frame_step = 0;
  run.frame = nullptr;
}

bool HandedRuns::next(RxRun& run) {
  if (all_taken()) return false;
  run = runs_[taken_];
  run.frame = bytes_.data() + starts_[taken_];
  ++taken_;
  return true;
}

void HandedRuns::clear() {
  bytes_.clear();
  runs_.clear();
  starts_.clear();
  taken_ = 0;
}

void Inbox::set_owner(Datapath* owner) {
  const OwnMutex::Lock lock = mutex_.enter();
  owner_ = owner;
}

bool Inbox::add(const HandedRuns::Part& part) {
  const OwnMutex::Lock lock = mutex_.lock();
  if (owner_ == nullptr || runs_.bytes() >= engines_params::kInboxBytes) return false;
  runs_.add(part);
  filled_.store(true, std::memory_order_release);
  owner_->wake();
  return true;
}

bool Inbox::take(HandedRuns& empty) {
  if (!filled_.load(std::memory_order_acquire)) return false;
  const OwnMutex::Lock lock = mutex_.lock();
  std::swap(runs_, empty);
  filled_.store(false, std::memory_order_relaxed);
  return true;
}

}  // namespace heddle::datapath
