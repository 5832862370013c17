// The numbers of the wire that wrap around, each a type of its own: they compare by serial number
// arithmetic (base/serial.h) and nothing subtracts them. Packet numbers have 64 bits and never
// wrap.
#pragma once

#include <cstdint>

#include "base/serial.h"

namespace heddle::transport {

// A message's place in its channel, by sends and by receives alike.
using Sequence = Serial<struct SequenceTag, uint32_t>;
// How often a path of remote writes was made anew (transport/placed.h).
using PathEpoch = Serial<struct PathEpochTag, uint16_t>;
// A demand for credit among those of its connection.
using DemandSerial = Serial<struct DemandTag, uint32_t>;

// The low bits of one of this side's own packet numbers, where memory is short.
using PacketNumberLow = Serial<struct PacketNumberTag, uint32_t>;

// The id of a connection in packets: 64 random bits drawn by the receiver of these packets, so that
// a host that has not seen them cannot guess it. 0: none.
using WireId = uint64_t;

// The first message of every channel: near the wrap, so that wrapping is nothing rare.
inline constexpr Sequence kFirstSequence = UINT32_MAX - 63;

}  // namespace heddle::transport
