// Fates: all outcomes of a packet besides delivery, counted when they happen, so that tests can
// prove that a fault occurred.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace heddle::simulator {

enum class Fate : uint32_t {
  kLost,  // by LinkFaults::loss_per_million
  kDuplicated,
  kReordered,        // held back after a link
  kHeaderCorrupted,  // one bit flipped on a link
  kPayloadCorrupted,
  kChecksumDropped,  // corrupt, detected by the receiving NIC
  kCutOff,           // in flight or queued when its link went down
  kLinkDown,         // sent to a link that was down
  kQueueFull,
  kMarked,
  kTooLarge,  // for a link's MTU
  kNoRoute,
  kRefused,  // no receiver at its port
  kUnread,   // sent to a port that only sends
  kHostDown,
  kReceiveQueueFull,
  kWriteStale,      // older epoch, or behind a later write of its path
  kWriteGap,        // an earlier piece or write is missing
  kWriteForbidden,  // its token names no memory
  kHopLimit,        // expired at a switch, as intended
  kTrimmed,         // the queue was full; continues as a header
  kWriteRecalled,   // its NIC may not read the payload any more
  kCount,
};

// Display name: "lost", "duplicated", …
const char* name_of(Fate fate);

class FateCounts {
 public:
  void add(Fate fate, uint64_t count = 1) { counts_[static_cast<size_t>(fate)] += count; }
  uint64_t operator[](Fate fate) const { return counts_[static_cast<size_t>(fate)]; }

 private:
  std::array<uint64_t, static_cast<size_t>(Fate::kCount)> counts_{};
};

}  // namespace heddle::simulator
