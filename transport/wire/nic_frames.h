// The two frames by which a side learns that a pair of NICs reaches each other: a probe with a
// token, and the answer of the probed NIC with the same token.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/wire/cursor.h"

namespace heddle::transport {

enum class FrameType : uint8_t;

// kNicProbe: to be answered at the address that it came from. kNicAnswer: the token of a probe.
struct NicFrame {
  uint64_t token = 0;
};

inline constexpr size_t kNicFrameBytes = 1 + 8;

void write_nic_frame(FrameType type, const NicFrame& frame, Writer& writer);
// Reads what follows the type byte; false: malformed.
bool read_nic_frame(Reader& reader, NicFrame& frame);

}  // namespace heddle::transport
