// RelayedRoad: messages of one session over a long cable in the simulator, with a relay at either
// end of it. The relays and both ends are those of relaying/, over the engine's endpoints.
#pragma once

#include <cstdint>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"

namespace heddle::bench {

struct RelayedRoad {
  BitsPerSec rate;
  Nanos site_delay;   // one way, between a host and its relay
  Nanos cable_delay;  // one way, between the relays
  uint32_t mtu_bytes = 0;
  uint64_t message_bytes = 0;
  uint32_t outstanding = 0;  // messages that the far end has not confirmed
  uint64_t relay_bytes = 0;  // memory of each relay
};

struct RoadResult {
  double goodput_bits_per_s = 0;
  uint64_t most_held_bytes = 0;  // by the relay near the sender
  uint64_t retransmitted = 0;    // of frames, by the sender
};

// Goodput between two numbers of confirmed messages: that after `skipped` times `outstanding`, for
// as many again. Errors: kInvalid (relay memory, a zero), kTimeout (no end within a simulated
// minute), those of the session, kSystem (a wrong byte arrived).
Result<RoadResult> run_relayed(const RelayedRoad& road, uint32_t skipped);

}  // namespace heddle::bench
