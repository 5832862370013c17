// Fates: everything that can befall a packet besides arriving, counted when it happened, so that a
// test can prove that it was reached.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle::simulator {

enum class Fate : uint32_t {
  kLost,  // by LinkFaults::loss_per_million
  kDuplicated,
  kReordered,        // held back after a link
  kHeaderCorrupted,  // a bit flipped on a link
  kPayloadCorrupted,
  kChecksumDropped,  // corrupt, found by the receiving NIC
  kCutOff,           // under way or queued when its link went down
  kLinkDown,         // met a link that was down
  kQueueFull,
  kMarked,
  kTooLarge,  // for a link's MTU
  kNoRoute,
  kRefused,  // nobody receives at its port
  kUnread,   // for a port that only sends
  kHostDown,
  kReceiveQueueFull,
  kWriteStale,      // of an older epoch, or behind a later write of its path
  kWriteGap,        // a piece or a write before it is missing
  kWriteForbidden,  // its token names no memory
  kHopLimit,        // ended at a switch, on purpose
  kTrimmed,         // found no room, and goes on as a header
  kCount,
};

// For tables: "lost", "duplicated", …
const char* name_of(Fate fate);

class FateCounts {
 public:
  void add(Fate fate, uint64_t count = 1) { counts_[static_cast<size_t>(fate)] += count; }
  uint64_t operator[](Fate fate) const { return counts_[static_cast<size_t>(fate)]; }

 private:
  std::array<uint64_t, static_cast<size_t>(Fate::kCount)> counts_{};
};

}  // namespace heddle::simulator
