// How payload is named: a region that a datapath registered, an offset and a length in bytes.
// The transport passes names around; only a datapath knows where the bytes are.
#pragma once

#include <cstdint>

namespace heddle::transport {

using RegionId = uint32_t;
inline constexpr RegionId kNoRegion = UINT32_MAX;

struct Payload {
  RegionId region = kNoRegion;
  uint64_t offset = 0;
  uint64_t length = 0;
};

// How soon the arrival of a message is acknowledged.
enum class AckPolicy : uint8_t {
  kPrompt,
  kDeferred,  // the sender does not wait (its payload was copied, say): with others, within 1 ms
};

// From when on a receive's memory may be written.
enum class Fill : uint8_t {
  kAtOnce,  // rows are received straight into it before it is known whose they are
  // Once something of the message has come; until then others may touch it, and reads that repeat
  // what was sent from there may see either: the peer has that already.
  kOnArrival,
};

}  // namespace heddle::transport
