// TxPath: one entropy that this side of a connection sends on: its packet numbers, what is in
// flight on it, how long a round trip takes, how large a datagram it passes, and whether it may
// carry payload. A connection may have 256, most of them quiet: it is 88 bytes.
#pragma once

#include <cstdint>

#include "events/events.h"
#include "transport/path/coarse_time.h"
#include "transport/path/round_trip.h"
#include "transport/recovery/reorder_window.h"
#include "transport/recovery/sent_runs.h"

namespace heddle::transport {

struct TxPath {
  static constexpr uint32_t kMostRecentLosses = 7;
  // Of acknowledged numbers, until one recent loss is forgotten.
  static constexpr uint64_t kLossForgottenAfter = 64;

  SentList sent;
  uint64_t payload_bytes_sent = 0;
  TripEstimate trip;
  [[no_unique_address]] ReorderWindow window;  // leaves its last byte to the next
  uint8_t judged_in = 0;  // the phase (see Flight) in which it was last measured, or lost something
  CoarseTime probe_at;    // tail probe, or next probe of a path that is set aside
  CoarseTime loss_check_at;
  PacketNumberLow large_lost_below;  // packets below it left before a loss of large datagrams was
                                     // last counted
  uint32_t segments_lost = 0;
  uint16_t marked_seen = 0;     // the peer's count of marks, as last heard (low bits)
  uint16_t datagram_bytes = 0;  // that it is known to pass; of no use on a chunk path
  uint16_t wanted_bytes = 0;    // that is to be tried next; 0: nothing more to try
  PathEpoch epoch;              // chunk paths: see transport/placed.h
  uint16_t place : 15 = 0;      // among the paths of its connection, usable ones first
  bool left_out : 1 = false;    // payload was told to go over others
  events::PathState state : 2 = events::PathState::kActive;
  uint8_t probes_unanswered : 4 = 0;
  uint8_t size_probes_lost : 2 = 0;
  uint8_t large_losses : 2 = 0;  // round trips in which large datagrams were lost, and none arrived
  uint8_t recent_losses : 3 = 0;  // bursts, as of the phase judged_in
  bool marked : 1 = false;        // the latest acknowledgement told of new marks
  bool sizes : 1 = false;         // a probe of a larger datagram is under way
  bool wants_probe : 1 = false;   // a small packet must be sent on it

  bool active() const { return state == events::PathState::kActive; }
};
static_assert(sizeof(TxPath) == 88);

}  // namespace heddle::transport
