// TxPath: one entropy that this side of a connection sends on: its packet numbers, what is in
// flight on it, how long a round trip takes, how large a datagram it passes, and whether it may
// carry payload.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "events/events.h"
#include "transport/path/round_trip.h"
#include "transport/recovery/reorder_window.h"
#include "transport/recovery/sent_runs.h"

namespace heddle::transport {

struct TxPath {
  uint64_t next_number = 1;
  SentList sent;
  RoundTrip round_trip;
  ReorderWindow window;

  Nanos last_sent_at;               // of the newest packet that wants an acknowledgement
  Nanos probe_at = Nanos::never();  // tail probe, or next probe of a path that is set aside
  Nanos loss_check_at = Nanos::never();
  Nanos large_lost_at;             // when a loss of large datagrams was last counted
  uint64_t size_probe_number = 0;  // of the probe of a larger datagram that is under way; 0: none

  uint64_t payload_bytes_sent = 0;
  uint64_t delivered_bytes = 0;
  uint64_t segments_lost = 0;
  uint32_t marked_seen = 0;     // the peer's count of marks, as last heard
  uint32_t datagram_bytes = 0;  // that it is known to pass
  uint32_t wanted_bytes = 0;    // that is to be tried next; 0: nothing more to try
  events::PathState state = events::PathState::kActive;
  uint16_t epoch = 0;  // chunk paths: see transport/placed.h
  uint8_t probes_unanswered = 0;
  uint8_t size_probes_lost = 0;
  uint8_t large_losses = 0;  // round trips in which large datagrams were lost, and none arrived
  bool marked = false;       // the latest acknowledgement told of new marks

  bool places = false;  // a chunk path: each packet is a remote write of at most datagram_bytes

  bool active() const { return state == events::PathState::kActive; }

  // How long to wait for an acknowledgement before probing, with `more` for what the peer may hold
  // it back; doubled for each probe that went unanswered, up to `longest`.
  Nanos patience(Nanos more, Nanos longest) const {
    const Nanos once = round_trip.probe_timeout() + more;
    return std::min(once * (int64_t{1} << std::min<uint8_t>(probes_unanswered, 10)), longest);
  }
};

}  // namespace heddle::transport
