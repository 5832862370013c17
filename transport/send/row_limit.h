// RowLimit: whether a burst may leave as a row of several segments in one call. Some interfaces and
// filters take such a row for one packet, too large for them, and drop it whole, though each of its
// segments would pass. Where whole rows are lost round after round while single packets arrive,
// segments leave one by one for a while.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "transport/params.h"
#include "transport/tx_batch.h"

namespace heddle::transport {

class RowLimit {
 public:
  static constexpr uint32_t kRounds = params::row_limit::kRounds;
  static constexpr uint32_t kFirstPatience = params::row_limit::kFirstPatience;
  static constexpr uint32_t kMostPatience = params::row_limit::kMostPatience;

  // Segments of a burst, at most.
  uint32_t most() const { return singles_left_ == 0 ? kMaxBurstSegments : 1; }

  // Some of a burst of `segments` arrived.
  void on_acked(uint32_t segments) {
    if (segments > 1) {
      rounds_ = 0;
      patience_ = kFirstPatience;
      return;
    }
    single_arrived_ = true;
    if (singles_left_ > 0) --singles_left_;
  }

  // A whole row that left at `sent_at` was lost; `newest` is when the newest packet left. True: no
  // rows from now on.
  bool on_row_lost(Nanos sent_at, Nanos newest) {
    if (sent_at <= round_began_at_ || !single_arrived_) return false;
    round_began_at_ = newest;
    single_arrived_ = false;
    if (++rounds_ < kRounds) return false;
    rounds_ = 0;
    singles_left_ = patience_;
    patience_ = std::min(4 * patience_, kMostPatience);
    return true;
  }

 private:
  uint32_t rounds_ = 0;
  uint32_t singles_left_ = 0;  // 0: rows may leave
  uint32_t patience_ = kFirstPatience;
  bool single_arrived_ = false;  // since the round began
  Nanos round_began_at_;
};

}  // namespace heddle::transport
