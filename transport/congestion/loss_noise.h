// LossNoise: separates losses that come at any rate (a bad cable, a flipped bit) from those of a
// full queue. Congestion ends when a sender makes room, noise does not: the loss rate in the first
// round trip after a reduction, against the loss rate in all, estimates the noise. Where queues are
// long enough to be felt, a loss at a high delay is congestion whatever the rate.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::transport {

class LossNoise {
 public:
  // Acknowledged: what was sent at `sent_at`, in a round trip of `rtt` (zero: not measured).
  void on_ack(Nanos sent_at, Bytes acked, Nanos rtt);
  // The controller reduced its window to `segments`; packets of the next round trips meet room in
  // the queues: for as many round trips as a window that grows by a segment each takes to fill it.
  void on_reduced(Nanos now, Nanos round_trip, uint64_t segments);
  // Lost, found by a gap: what was sent at `sent_at` on a path whose latest round trip is `rtt`,
  // `min_rtt` being the connection's lowest. True: no sign of congestion.
  bool is_noise(Nanos sent_at, Bytes lost, Nanos rtt, Nanos min_rtt);

  // After noise: whether the latest reduction was for nothing, since as much is lost with the room
  // that it made. True once for a reduction.
  bool take_needless(Nanos sent_at);

  // Of bytes sent, in millionths.
  uint32_t rate() const;

 private:
  struct Count {
    uint64_t acked = 0;
    uint64_t lost = 0;
    Nanos halved_at;

    void forget(Nanos sent_at);
    uint64_t sent() const { return acked + lost; }
  };

  bool meets_room(Nanos sent_at) const { return sent_at > room_from_ && sent_at <= room_until_; }

  Count all_;
  Count with_room_;
  Nanos room_from_;
  Nanos room_until_;
  Nanos longest_;          // round trip, decaying
  uint64_t forgiven_ = 0;  // bytes that may be lost without meaning anything
  uint64_t carry_ = 0;     // of the above, in millionths of a byte
};

}  // namespace heddle::transport
