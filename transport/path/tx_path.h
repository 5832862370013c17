// TxPath: one entropy value that this side of a connection sends on. A connection may have 256 of
// them, most of them idle, so it is 88 bytes; each part of the send controller owns a group of
// members.
#pragma once

#include <cstdint>

#include "events/events.h"
#include "transport/path/coarse_time.h"
#include "transport/path/path_share.h"
#include "transport/path/path_state.h"
#include "transport/path/pmtu_prober.h"
#include "transport/path/round_trip.h"
#include "transport/recovery/reorder_window.h"
#include "transport/recovery/sent_bursts.h"

namespace heddle::transport {

struct TxPath {
  SentList sent;
  uint64_t payload_bytes_sent = 0;
  TripEstimate trip;
  // These leave their last byte to the next member.
  [[no_unique_address]] ReorderWindow window;
  [[no_unique_address]] PathHealth health;
  CoarseTime probe_at;       // PTO of an active path, or the next probe of a suspect one
  CoarseTime loss_check_at;  // when an overtaken packet may count as lost
  [[no_unique_address]] PathMtu mtu;
  [[no_unique_address]] PathShare share;
  uint32_t segments_lost = 0;
  uint16_t marks_seen = 0;  // the peer's count of marked packets, as last acknowledged (low bits)
  PathEpoch epoch;          // of a strategy's path: what was sent in an earlier one is rejected

  bool active() const { return health.active(); }
};
static_assert(sizeof(TxPath) == 88);

}  // namespace heddle::transport
