// How much payload the largest burst of a network carries.
#pragma once

#include <cstdint>

#include "base/units.h"

namespace heddle::datapath {
struct Capabilities;
}

namespace heddle::engine {

// To a host whose interface passes as much as this one's, in bursts of up to `longest` (0: any);
// `sealed`: each segment has a tag. 0: segments leave one by one, or a NIC places them.
uint32_t burst_payload_bytes(const datapath::Capabilities& network, Bytes longest, bool sealed);

}  // namespace heddle::engine
