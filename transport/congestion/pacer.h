// Pacer: spreads bursts over time at a rate, with a handful of integer operations a burst. The
// sender calls allowance() before a burst and on_sent() after it; the pacer holds no clock and no
// queue.
#pragma once

#include <cstdint>
#include <limits>

#include "base/nanos.h"
#include "base/units.h"
#include "transport/params.h"

namespace heddle::transport {

class Pacer {
 public:
  static constexpr Bytes kBurstMost = params::pacer::kBurstMost;
  static constexpr Nanos kBurstTimeMost = params::pacer::kBurstTimeMost;
  static constexpr Nanos kCatchUp = params::pacer::kCatchUp;
  static constexpr Bytes kSavedMost = params::pacer::kSavedMost;

  // How much may leave now as one burst: kBurstMost or what the rate passes in kBurstTimeMost,
  // whichever is less, but at least one segment; zero before ready_at(). A zero rate is not paced.
  Bytes allowance(Nanos now, BitsPerSec rate, Bytes segment) const;

  // A burst of `sent` bytes, headers included, left; `rate` as given to allowance(). What the rate
  // would have passed in a pause may follow at once, up to kSavedMost or kCatchUp.
  void on_sent(Nanos now, Bytes sent, BitsPerSec rate);

  // When the next burst may leave; in the past: at once.
  Nanos ready_at() const { return ready_at_; }

 private:
  // The largest burst at `rate`.
  static Bytes quantum(BitsPerSec rate);

  Nanos ready_at_{std::numeric_limits<int64_t>::min()};
};

}  // namespace heddle::transport
