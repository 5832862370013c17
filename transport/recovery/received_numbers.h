// ReceivedNumbers: which packet numbers of one path have arrived, as the newest few ranges. Here
// duplicates are recognised, and from here acknowledgements are made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/wire/control.h"

namespace heddle::transport {

// What the numbers of an arriving row mean.
enum class Novelty : uint8_t {
  kNew,        // none has arrived before
  kDuplicate,  // all have
  kMixed,      // some have: look at each alone
  kTooOld,     // below all that is remembered: cannot be told from a duplicate
};

class ReceivedNumbers {
 public:
  Novelty judge(uint64_t low, uint64_t high) const;

  // Remembers [low, high]; forgets the oldest range if there are too many.
  void insert(uint64_t low, uint64_t high);

  // Whether [low, high] would leave a gap below it: something sent earlier is late or lost.
  bool leaves_gap(uint64_t low) const { return low > newest_.high + 1; }

  bool empty() const { return newest_.high == 0; }
  uint64_t largest() const { return newest_.high; }
  size_t range_count() const { return empty() ? 0 : 1u + older_count_; }

  // Copies the ranges, newest first, into an acknowledgement.
  void describe(AckFrame& frame) const;

  size_t bytes_held() const { return older_ ? sizeof(Older) : 0; }

 private:
  static constexpr size_t kMaxOlder = kMaxAckRanges - 1;
  using Older = std::array<NumberRange, kMaxOlder>;

  const NumberRange& range(size_t i) const { return i == 0 ? newest_ : (*older_)[i - 1]; }
  NumberRange& range(size_t i) { return i == 0 ? newest_ : (*older_)[i - 1]; }
  void insert_at(size_t i, NumberRange range);
  void remove_at(size_t i);

  NumberRange newest_;            // high 0: nothing yet (numbers start at 1)
  std::unique_ptr<Older> older_;  // made at the first gap, then kept
  uint64_t floor_ = 0;            // numbers up to it are forgotten
  uint8_t older_count_ = 0;
};

}  // namespace heddle::transport
