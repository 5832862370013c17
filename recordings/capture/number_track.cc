// See number_track.h.
#include "recordings/capture/number_track.h"

#include "base/check.h"

namespace heddle::recordings {

Arrival NumberTrack::see(uint64_t number, uint64_t may_skip) {
  if (!highest_) {
    highest_ = number;
    return Arrival::kNew;
  }
  if (number > *highest_) {
    const uint64_t missing = number - *highest_ - 1;
    if (missing > may_skip) {
      if (gaps_.size() == kMostGaps) gaps_.erase(gaps_.begin());
      gaps_.push_back({*highest_ + 1, number - 1});
      ++gaps_seen_;
      missing_ += missing;
    }
    highest_ = number;
    return Arrival::kNew;
  }
  if (fill(number)) {
    ++late_;
    --missing_;
    return Arrival::kLate;
  }
  ++repeated_;
  return Arrival::kRepeated;
}

bool NumberTrack::fill(uint64_t number) {
  for (size_t i = gaps_.size(); i-- > 0;) {
    Gap& gap = gaps_[i];
    if (number > gap.high) return false;
    if (number < gap.low) continue;
    const Gap above{number + 1, gap.high};
    gap.high = number - 1;
    const auto at = gaps_.begin() + static_cast<std::ptrdiff_t>(i);
    if (gap.low > gap.high) {
      if (above.low > above.high) {
        gaps_.erase(at);
      } else {
        gap = above;
      }
    } else if (above.low <= above.high && gaps_.size() < kMostGaps) {
      gaps_.insert(at + 1, above);
    }
    return true;
  }
  return false;
}

void NumberTrack::skip(uint64_t count) {
  CHECK(begun());
  *highest_ += count;
  skipped_ += count;
}

void NumberTrack::restart() {
  highest_.reset();
  gaps_.clear();
}

}  // namespace heddle::recordings
