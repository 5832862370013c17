// EngineShare: one of several endpoints ("engines") of a process that receive on one port. The low
// bits of every id that an engine draws are its index, so that datapaths and socket filters find
// the engine of a packet without its state.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::transport {

inline constexpr uint8_t kMostEngines = 16;

struct EngineShare {
  uint8_t index = 0;
  uint8_t count = 1;  // of engines at the port, at most kMostEngines

  // How many low bits of an id are the engine's.
  uint32_t bits() const { return static_cast<uint32_t>(std::bit_width(count - 1u)); }
  uint32_t mask() const { return (1u << bits()) - 1; }
};

// Packet types (the low half of the first byte) that name their engine in a way of their own, and
// where fields that name an engine are, by their offset in the packet.
inline constexpr uint32_t kEngineInitType = 1;
inline constexpr uint32_t kEngineParityType = 11;
inline constexpr size_t kEngineIdAt = 4;           // all but the following
inline constexpr size_t kEngineInitPortAt = 24;    // init: summed with the byte at kEngineIdAt
inline constexpr size_t kEngineParityIdAt = 8;     // parity (datapath/fec/)
inline constexpr size_t kEngineParityKindAt = 2;   // parity: 0 is an announcement
inline constexpr size_t kEngineReadableBytes = 8;  // a shorter datagram names no engine

// What engine_of() returns besides an index.
inline constexpr uint8_t kEveryEngine = 255;  // each engine must see it: a reset, an announcement
inline constexpr uint8_t kAnyEngine = 254;    // it names none: malformed, or of another protocol

// The engine among `share.count` that this datagram belongs to. An init names none; it belongs to
// one by its sender's id and port, so that it meets the engine that made its cookie, and a peer's
// successive connections take the engines in turn.
uint8_t engine_of(std::span<const std::byte> datagram, const EngineShare& share);

}  // namespace heddle::transport
