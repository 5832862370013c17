// IntervalSet: which bytes of a message are there, as disjoint half-open intervals in rising order.
// Bulk data arrives in a few rising streams (one a path), so the set stays small and most calls
// extend one interval. It keeps its memory over clear(), so that a reused one allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::transport {

class IntervalSet {
 public:
  struct Interval {
    uint64_t start;
    uint64_t end;
  };

  // Adds [start, end); returns how many of these bytes were not there before.
  uint64_t add(uint64_t start, uint64_t end);

  // How many of [start, end) are there.
  uint64_t covered_within(uint64_t start, uint64_t end) const;

  // Whether [start, end) would join bytes that are there, so that the set does not grow.
  bool touches(uint64_t start, uint64_t end) const {
    const size_t at = find(start);
    return at < intervals_.size() && intervals_[at].start <= end;
  }

  // The first byte at or after `from` that is not there.
  uint64_t first_gap(uint64_t from = 0) const;
  // The first byte at or after `from` that is there; `otherwise` if there is none.
  uint64_t first_covered(uint64_t from, uint64_t otherwise) const;

  uint64_t covered() const { return covered_; }
  size_t size() const { return intervals_.size(); }
  const Interval& operator[](size_t i) const { return intervals_[i]; }
  size_t bytes_held() const { return intervals_.capacity() * sizeof(Interval); }

  // Frees its memory if it is for more than `most` intervals.
  void trim(size_t most) {
    if (intervals_.capacity() > most) std::vector<Interval>().swap(intervals_);
  }
  void clear() {
    intervals_.clear();
    covered_ = 0;
  }

 private:
  // Index of the first interval whose end is at or after `position`.
  size_t find(uint64_t position) const;

  std::vector<Interval> intervals_;
  uint64_t covered_ = 0;
};

}  // namespace heddle::transport
