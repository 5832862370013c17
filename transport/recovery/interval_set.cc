// The set's searches and merges.
#include "transport/recovery/interval_set.h"

#include <algorithm>

#include "base/check.h"
#include "transport/recovery/params.h"

namespace heddle::transport {

size_t IntervalSet::find(uint64_t position) const {
  const auto at = std::lower_bound(
      intervals_.begin(), intervals_.end(), position,
      [](const Interval& interval, uint64_t value) { return interval.end < value; });
  return static_cast<size_t>(at - intervals_.begin());
}

uint64_t IntervalSet::add(uint64_t start, uint64_t end) {
  CHECK(start <= end);
  if (start == end) return 0;
  // The usual case: the last interval grows.
  if (!intervals_.empty() && intervals_.back().end == start) {
    intervals_.back().end = end;
    covered_ += end - start;
    return end - start;
  }
  if (intervals_.size() == intervals_.capacity()) {
    intervals_.reserve(intervals_.empty()
                           ? params::intervals::kFew
                           : std::max(params::intervals::kSome, 2 * intervals_.size()));
  }
  const size_t first = find(start);
  size_t past = first;
  Interval merged{start, end};
  uint64_t before = 0;
  while (past < intervals_.size() && intervals_[past].start <= end) {
    merged.start = std::min(merged.start, intervals_[past].start);
    merged.end = std::max(merged.end, intervals_[past].end);
    before += intervals_[past].end - intervals_[past].start;
    ++past;
  }
  const auto at = intervals_.begin() + static_cast<ptrdiff_t>(first);
  if (past == first) {
    intervals_.insert(at, merged);
  } else {
    intervals_[first] = merged;
    intervals_.erase(at + 1, intervals_.begin() + static_cast<ptrdiff_t>(past));
  }
  const uint64_t fresh = (merged.end - merged.start) - before;
  covered_ += fresh;
  return fresh;
}

uint64_t IntervalSet::covered_within(uint64_t start, uint64_t end) const {
  uint64_t total = 0;
  for (size_t i = find(start); i < intervals_.size() && intervals_[i].start < end; ++i) {
    const uint64_t low = std::max(start, intervals_[i].start);
    const uint64_t high = std::min(end, intervals_[i].end);
    if (high > low) total += high - low;
  }
  return total;
}

uint64_t IntervalSet::first_gap(uint64_t from) const {
  for (size_t i = find(from); i < intervals_.size() && intervals_[i].start <= from; ++i) {
    from = std::max(from, intervals_[i].end);
  }
  return from;
}

uint64_t IntervalSet::first_covered(uint64_t from, uint64_t otherwise) const {
  for (size_t i = find(from); i < intervals_.size(); ++i) {
    if (intervals_[i].end > from) return std::max(from, intervals_[i].start);
  }
  return otherwise;
}

}  // namespace heddle::transport
