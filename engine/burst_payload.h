// The payload that the largest burst of a network carries.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace heddle::datapath {
struct Capabilities;
}

namespace heddle::engine {

// Payload bytes of a full burst of at most `longest` bytes (0: no limit), for a peer with this
// host's MTU. `encrypted`: each segment carries an authentication tag. Returns 0 where the network
// sends segments one at a time or places chunks.
uint32_t burst_payload_bytes(const datapath::Capabilities& network, Bytes longest, bool encrypted);

}  // namespace heddle::engine
