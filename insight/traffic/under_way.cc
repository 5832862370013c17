// See under_way.h.
#include "insight/traffic/under_way.h"

#include "insight/params.h"

namespace heddle::insight {

using params::traffic::kMostStretches;

void UnderWay::begin(uint32_t call, uint32_t purpose, Nanos at) {
  if (!calls_.emplace(call, purpose).second) return;
  ++counts_[purpose];
  note(at);
}

void UnderWay::end(uint32_t call, Nanos at) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  const auto counted = counts_.find(found->second);
  if (--counted->second == 0) counts_.erase(counted);
  calls_.erase(found);
  note(at);
}

void UnderWay::note(Nanos at) {
  const size_t purposes = counts_.size();
  const uint32_t purpose = purposes == 1 ? counts_.begin()->first : 0;
  if (!stretches_.empty()) {
    const Stretch& last = stretches_.back();
    if (last.purposes == purposes && last.purpose == purpose) return;
  }
  stretches_.push_back({at, purposes, purpose});
  if (stretches_.size() > kMostStretches) stretches_.pop_front();
}

std::optional<uint32_t> UnderWay::only(Nanos from, Nanos to) const {
  std::optional<uint32_t> one;
  Nanos until = to;  // end of the stretch being examined
  for (auto at = stretches_.rbegin(); at != stretches_.rend() && until > from; ++at) {
    const bool overlaps = at->since < to;
    until = at->since;
    if (!overlaps || at->purposes == 0) continue;
    if (at->purposes > 1 || (one && *one != at->purpose)) return std::nullopt;
    one = at->purpose;
  }
  // The state before the oldest stretch is unknown.
  const bool forgotten = stretches_.size() == kMostStretches && until > from;
  return forgotten ? std::nullopt : one;
}

}  // namespace heddle::insight
