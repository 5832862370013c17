// Probe timeout and tail-loss delay: how long a sender waits for an acknowledgement before it
// probes (RFC 9002 section 6.2, RACK-TLP's RFC 8985 section 7).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "transport/params.h"
#include "transport/path/path_set.h"
#include "transport/recovery/ack_rules.h"

namespace heddle::transport {

// The peer's ack policy may delay an acknowledgement by this time.
inline constexpr Nanos kPeerAckDelay = AckRules::kControlDelay;

// The PTO of a path: doubled for each unanswered probe, `longest` at most.
inline Nanos probe_timeout(const RoundTrip& round_trip, const TxPath& path, Nanos longest) {
  const Nanos once = round_trip.probe_timeout(path.trip) + kPeerAckDelay;
  const uint8_t backoff = std::min<uint8_t>(path.health.unanswered_probes(), 10);
  return std::min(once * (int64_t{1} << backoff), longest);
}

// How long a packet may stay unacknowledged, while later packets are acknowledged, before its path
// is probed.
inline Nanos tail_loss_delay(const RoundTrip& round_trip) {
  const Nanos trip = round_trip.smoothed();
  return std::max(2 * trip, trip + 4 * round_trip.variation()) + params::kTailLossSlack;
}

}  // namespace heddle::transport
