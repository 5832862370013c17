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

  // Nothing was in flight: what the rate would have passed in the pause may leave at once, up to
  // kSavedMost, the next burst included. In other pauses up to kCatchUp is saved: the sender had
  // something to send, and the peer's socket may be full.
  void on_idle() { restarts_ = true; }
  // A burst of `sent` bytes, headers included, left; `rate` as given to allowance().
  void on_sent(Nanos now, Bytes sent, BitsPerSec rate);

  // When the next burst may leave; in the past: at once.
  Nanos ready_at() const { return ready_at_; }

 private:
  // The largest burst at `rate`.
  static Bytes quantum(BitsPerSec rate);

  Nanos ready_at_{std::numeric_limits<int64_t>::min()};
  bool restarts_ = false;  // something that an idle pause saved up is left
};

}  // namespace heddle::transport
