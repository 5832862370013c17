// FlowControl: a bound on payload in flight beside the congestion window. An extension implements
// it (receiver credits, extensions/credits.h); without one there is none.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "transport/messages/outgoing.h"
#include "transport/recovery/sent_bursts.h"

namespace heddle::transport {

class FlowControl {
 public:
  virtual ~FlowControl() = default;
  // Whether one segment of the piece may leave.
  virtual bool may_send(const Piece& piece) const = 0;
  // How many of `segments` with `step` bytes of payload each may leave: at least one, after
  // may_send().
  virtual uint32_t segments_allowed(const Piece& piece, uint32_t segments, uint32_t step) const = 0;
  virtual void on_sent(const SentBurst& sent) = 0;
  // Datagrams arrived, of this many bytes in all. `again`: the peer marked them as retransmitted.
  virtual void on_arrival(Nanos now, uint64_t bytes, uint32_t datagrams, bool again) = 0;
  // An acknowledgement was processed.
  virtual void on_ack(Nanos now) = 0;
};

}  // namespace heddle::transport
