// The 32 immediate bits of a remote write: the low bits of its path's packet number, the slot of
// the granted receive, the chunk's place in the message, and whether it is the message's last.
#pragma once

#include <cstdint>

namespace heddle::transport {

// The slot of a receive that may not be written remotely.
inline constexpr uint8_t kNoSlot = UINT8_MAX;

struct Immediate {
  static constexpr uint32_t kNumberBits = 9;
  static constexpr uint32_t kSlotBits = 8;
  static constexpr uint32_t kChunkBits = 14;
  static constexpr uint32_t kMaxChunks = 1u << kChunkBits;
  // The slot of an empty chunk that only asks for an acknowledgement.
  static constexpr uint8_t kProbeSlot = 255;
  // The most that a sender's numbers may be ahead of the newest acknowledged one, so that the low
  // bits identify them.
  static constexpr uint64_t kMaxAhead = (1u << kNumberBits) / 2 - 64;

  uint32_t number_low = 0;
  uint8_t slot = 0;
  uint32_t chunk = 0;
  bool last = false;
};

constexpr uint32_t pack(const Immediate& immediate) {
  return (immediate.number_low & ((1u << Immediate::kNumberBits) - 1)) |
         uint32_t{immediate.slot} << Immediate::kNumberBits |
         (immediate.chunk & (Immediate::kMaxChunks - 1))
             << (Immediate::kNumberBits + Immediate::kSlotBits) |
         uint32_t{immediate.last} << 31;
}

constexpr Immediate unpack(uint32_t bits) {
  return {bits & ((1u << Immediate::kNumberBits) - 1),
          static_cast<uint8_t>(bits >> Immediate::kNumberBits),
          bits >> (Immediate::kNumberBits + Immediate::kSlotBits) & (Immediate::kMaxChunks - 1),
          bits >> 31 != 0};
}

// The number whose low bits these are, above `largest` (chunks of a path come in order).
constexpr uint64_t number_after(uint64_t largest, uint32_t low) {
  const uint64_t next = largest + 1;
  const uint64_t span = uint64_t{1} << Immediate::kNumberBits;
  return next + ((low - next) & (span - 1));
}

}  // namespace heddle::transport
