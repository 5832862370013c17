// NumberTrack: which packet numbers of a flow a capture has, in rising order but for gaps, late
// ones and repeated ones. Memory has a bound: the oldest of too many gaps is closed, and its
// numbers stay missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "recordings/params.h"

namespace heddle::recordings {

enum class Arrival : uint8_t {
  kNew,       // above all before it
  kLate,      // in a gap: reordered, or lost before the capture and retransmitted
  kRepeated,  // was there before
};

class NumberTrack {
 public:
  static constexpr size_t kMostGaps = params::capture::kMostGaps;

  // Of numbers above the expected one up to `may_skip` may be unused: that is no gap.
  Arrival see(uint64_t number, uint64_t may_skip = 0);
  // The next `count` numbers may have been used: they are neither seen nor missing. There must be
  // a number before.
  void skip(uint64_t count);
  // Forgets what was seen; counts remain.
  void restart();

  bool begun() const { return highest_.has_value(); }
  uint64_t highest() const { return highest_.value_or(0); }
  uint64_t gaps() const { return gaps_seen_; }
  uint64_t missing() const { return missing_; }  // numbers that have not arrived
  uint64_t late() const { return late_; }
  uint64_t repeated() const { return repeated_; }
  uint64_t skipped() const { return skipped_; }

 private:
  struct Gap {
    uint64_t low = 0;
    uint64_t high = 0;  // both missing
  };
  bool fill(uint64_t number);

  std::optional<uint64_t> highest_;
  std::vector<Gap> gaps_;  // oldest first
  uint64_t gaps_seen_ = 0;
  uint64_t missing_ = 0;
  uint64_t late_ = 0;
  uint64_t repeated_ = 0;
  uint64_t skipped_ = 0;
};

}  // namespace heddle::recordings
