// StragglerTracker: see straggler_tracker.h. A rank's state only goes forward (heard, asked, came),
// and what is forgotten is not noted again, so that news end whatever way they take.
#include "collectives/communicator/straggler_tracker.h"

#include <algorithm>

namespace heddle::collectives {

bool StragglerTracker::note(const Late& report) {
  if (report.number < from_) return false;
  const std::pair<uint64_t, uint32_t> call = {report.number, report.rank};
  const auto it = known_.find(call);
  if (report.came) {
    // A rank that was never reported late was never forwarded from here either.
    if (it == known_.end() || it->second == State::kCame) return false;
    unasked_ -= it->second == State::kHeard ? 1 : 0;
    it->second = State::kCame;
    return true;
  }
  if (it != known_.end()) return false;
  // A known entry is never evicted: peers would report it again, and the gossip would not end.
  if (known_.size() >= kMost) return false;
  known_.emplace(call, State::kHeard);
  ++unasked_;
  return true;
}

void StragglerTracker::forget_before(uint64_t number) {
  from_ = std::max(from_, number - std::min(number, kCallsBack));
  while (!known_.empty() && known_.begin()->first.first < from_) {
    unasked_ -= known_.begin()->second == State::kHeard ? 1 : 0;
    known_.erase(known_.begin());
  }
}

std::vector<uint32_t> StragglerTracker::missing(uint64_t number) const {
  std::vector<uint32_t> ranks;
  for (auto it = known_.lower_bound({number, 0}); it != known_.end() && it->first.first == number;
       ++it) {
    if (it->second != State::kCame) ranks.push_back(it->first.second);
  }
  return ranks;
}

void StragglerTracker::note_asker(uint64_t number, uint32_t asker) {
  if (askers_.size() < kMost) {
    askers_.insert({number, asker});
  } else {
    asked_by_more_ = true;
  }
}

StragglerTracker::Askers StragglerTracker::take_askers(uint64_t number) {
  const auto end = askers_.upper_bound({number, UINT32_MAX});
  Askers askers = {{askers_.begin(), end}, asked_by_more_};
  askers_.erase(askers_.begin(), end);
  // Askers that did not fit may wait for later calls: the flag stays until no asker is left.
  if (askers_.empty()) asked_by_more_ = false;
  return askers;
}

}  // namespace heddle::collectives
