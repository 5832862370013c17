// SlowStart: doubling the window each round trip, and leaving before the queue overflows: HyStart++
// (RFC 9406), which watches the lowest round-trip time of each round.
// Two things differ from the RFC, because a data centre's round trips are 10 us to 1 ms where the
// RFC expects 10 to 100 ms: the lowest round trip is compared with the lowest ever seen instead of
// the last round's, and the smallest rise that counts is not 4 ms but what bursts and hosts add by
// themselves.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"
#include "transport/congestion/controller.h"

namespace heddle::transport {

class SlowStart {
 public:
  // Whether a window of these bytes is still in slow start.
  bool active(uint64_t window) const { return window < threshold_; }

  // By how many bytes an acknowledgement grows the window; it may end slow start, at `window`.
  // To be called only while active and only for samples that were limited by the window.
  uint64_t grow(Nanos now, const AckSample& sample, uint64_t window, BitsPerSec pacing_rate);

  // Ends it: the threshold (ssthresh) is `window` from now on.
  void end(uint64_t window) { threshold_ = window; }
  // Begins it again, up to `threshold`.
  void restart(uint64_t threshold);

  // The rise above the lowest round trip that counts as a queue of others, RFC 9406's RttThresh.
  static Nanos delay_threshold(Nanos min_rtt, BitsPerSec pacing_rate);

 private:
  void begin_round(Nanos now);

  uint64_t threshold_ = UINT64_MAX;
  Nanos round_began_;
  Nanos round_min_ = Nanos::never();
  Nanos baseline_;               // the round's lowest when growth became careful
  uint32_t samples_ = 0;         // of this round
  uint32_t careful_rounds_ = 0;  // 0: full growth
};

}  // namespace heddle::transport
