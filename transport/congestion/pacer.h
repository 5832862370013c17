// Pacer: spreads bursts over time at a rate, with a handful of integer operations a burst. Whoever
// sends asks allowance() before a burst and tells on_sent() after it; the pacer holds no clock and
// no queue.
#pragma once

#include <cstdint>
#include <limits>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::transport {

class Pacer {
 public:
  static constexpr Bytes kBurstMost = {64'000};
  static constexpr Nanos kBurstTimeMost = micros(500);
  // How far behind its schedule a sender may catch up, at least (a burst's time where that is
  // longer): timers of an ordinary host fire 50 to 100 us late, and without catching up every late
  // one would cost throughput.
  static constexpr Nanos kCatchUp = micros(100);

  // How much may leave now as one burst: kBurstMost or what the rate passes in kBurstTimeMost,
  // whichever is less, but at least one segment; zero before ready_at(). A zero rate is not paced.
  Bytes allowance(Nanos now, BitsPerSec rate, Bytes segment) const;

  // A burst of `sent` bytes, headers included, left; `rate` as given to allowance().
  void on_sent(Nanos now, Bytes sent, BitsPerSec rate);

  // When the next burst may leave: in the past or never told to wait, at once.
  Nanos ready_at() const { return ready_at_; }

 private:
  // The largest burst at `rate`.
  static Bytes quantum(BitsPerSec rate);

  Nanos ready_at_{std::numeric_limits<int64_t>::min()};
};

}  // namespace heddle::transport
