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
  kAtOnce,  // received straight into it, before the header says to which message it belongs
  // Only after the first byte of the message: until then the memory is still read, to send again
  // what was sent from it. Such a repetition may see either content: the peer has the data already.
  kOnArrival,
};

}  // namespace heddle::transport
