// Coverage: which bytes of a message a capture has, as intervals, of which there is a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "recordings/params.h"

namespace heddle::recordings {

class Coverage {
 public:
  static constexpr size_t kMostIntervals = params::capture::kMostIntervals;

  // From `begin` up to `end`. Of too many intervals the new one is left out.
  void add(uint64_t begin, uint64_t end);
  // Whether all of the first `bytes` bytes are there.
  bool covers(uint64_t bytes) const {
    return bytes == 0 ||
           (!intervals_.empty() && intervals_[0].begin == 0 && intervals_[0].end >= bytes);
  }

 private:
  struct Interval {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  std::vector<Interval> intervals_;  // rising, apart from each other
};

}  // namespace heddle::recordings
