// See coverage.h.
#include "recordings/capture/coverage.h"

#include <algorithm>

namespace heddle::recordings {

void Coverage::add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  const auto first = std::find_if(intervals_.begin(), intervals_.end(),
                                  [begin](const Interval& each) { return each.end >= begin; });
  const auto past = std::find_if(first, intervals_.end(),
                                 [end](const Interval& each) { return each.begin > end; });
  if (first == past) {
    if (intervals_.size() < kMostIntervals) intervals_.insert(first, {begin, end});
    return;
  }
  first->begin = std::min(first->begin, begin);
  first->end = std::max((past - 1)->end, end);
  intervals_.erase(first + 1, past);
}

}  // namespace heddle::recordings
