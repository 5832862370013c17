// SegmentationLimit: whether a burst may leave as several segments in one system call (UDP GSO).
// Some interfaces and filters treat such a burst as one packet that is too large, and drop all of
// it, though each of its segments would pass. If whole bursts are lost round after round while
// single packets arrive, segments leave one by one for a while.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "transport/params.h"
#include "transport/tx_batch.h"

namespace heddle::transport {

class SegmentationLimit {
 public:
  static constexpr uint32_t kRounds = params::segmentation_limit::kRounds;
  static constexpr uint32_t kFirstSingles = params::segmentation_limit::kFirstSingles;
  static constexpr uint32_t kMostSingles = params::segmentation_limit::kMostSingles;

  // Segments of a burst, at most.
  uint32_t most() const { return singles_left_ == 0 ? kMaxBurstSegments : 1; }

  // Some of a burst of `segments` arrived.
  void on_acked(uint32_t segments) {
    if (segments > 1) {
      rounds_ = 0;
      retry_after_ = kFirstSingles;
      return;
    }
    single_arrived_ = true;
    if (singles_left_ > 0) --singles_left_;
  }

  // A whole burst that left at `sent_at` was lost; `newest` is when the newest packet left. True:
  // segments leave one by one from now on.
  bool on_burst_lost(Nanos sent_at, Nanos newest) {
    if (sent_at <= round_began_at_ || !single_arrived_) return false;
    round_began_at_ = newest;
    single_arrived_ = false;
    if (++rounds_ < kRounds) return false;
    rounds_ = 0;
    singles_left_ = retry_after_;
    retry_after_ = std::min(4 * retry_after_, kMostSingles);
    return true;
  }

 private:
  uint32_t rounds_ = 0;
  uint32_t singles_left_ = 0;  // 0: bursts may leave
  uint32_t retry_after_ = kFirstSingles;
  bool single_arrived_ = false;  // since the round began
  Nanos round_began_at_;
};

}  // namespace heddle::transport
