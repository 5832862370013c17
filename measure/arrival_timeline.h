// ArrivalTimeline: how many bytes arrived when, in intervals of one length that doubles when there
// are too many of them, and the longest time without an arrival. What a transfer did when a link
// failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "measure/params.h"

namespace heddle::measure {

class ArrivalTimeline {
 public:
  static constexpr Nanos kFirstInterval = params::kFirstInterval;
  static constexpr size_t kMostIntervals = params::kMostIntervals;

  // `bytes` arrived; `now` never goes backwards.
  void add(Nanos now, uint64_t bytes);

  bool empty() const { return bytes_.empty(); }
  // Since the first arrival; the last interval may not be over.
  const std::vector<uint64_t>& bytes() const { return bytes_; }
  Nanos interval() const { return interval_; }
  // Zero before the second arrival.
  Nanos longest_gap() const { return longest_gap_; }
  // From the first arrival to the start of the longest gap.
  Nanos longest_gap_after() const { return longest_gap_after_; }

 private:
  void halve();

  std::vector<uint64_t> bytes_;
  Nanos interval_ = kFirstInterval;
  Nanos began_;
  Nanos latest_;
  Nanos longest_gap_;
  Nanos longest_gap_after_;
};

}  // namespace heddle::measure
