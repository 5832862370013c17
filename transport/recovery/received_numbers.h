// ReceivedNumbers: which packet numbers of one path have arrived, as the newest few ranges. It
// recognizes duplicates and gives the ranges of acknowledgements. There is one for each path of a
// peer, so memory that only gaps need is lent from a pool of the endpoint, which is passed to every
// call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/pool.h"
#include "transport/recovery/params.h"
#include "transport/wire/control.h"

namespace heddle::transport {

// What the numbers of an arriving row mean.
enum class Novelty : uint8_t {
  kNew,        // none has arrived before
  kDuplicate,  // all have
  kMixed,      // some have: look at each alone
  kTooOld,     // below all that is remembered: cannot be distinguished from a duplicate
};

// The ranges below the newest, newest first.
struct OlderRanges {
  static constexpr size_t kMost = kMaxAckRanges - 1;

  std::array<NumberRange, kMost> ranges;
  uint64_t floor = 0;  // numbers up to it are forgotten
  uint8_t count = 0;   // at least 1 while it is lent
};
using OlderPool = Pool<OlderRanges>;

class ReceivedNumbers {
 public:
  // How far a sender can be ahead of the newest that arrived.
  static constexpr uint64_t kMostAhead = params::acknowledgements::kMostAhead;

  Novelty judge(const OlderPool& pool, uint64_t low, uint64_t high) const;

  // Remembers [low, high]; forgets the oldest range if there are too many, or nothing is lent.
  void insert(OlderPool& pool, uint64_t low, uint64_t high);

  // What has not arrived by now counts as too old from here on; gives back what was lent.
  void forget_gaps(OlderPool& pool);

  // Whether [low, high] would leave a gap below it: something sent earlier is late or lost.
  bool leaves_gap(uint64_t low) const { return low > high_ + 1; }

  bool empty() const { return high_ == 0; }
  uint64_t largest() const { return high_; }
  size_t range_count(const OlderPool& pool) const { return empty() ? 0 : 1 + older_count(pool); }

  // Copies the ranges, newest first, into an acknowledgement.
  void describe(const OlderPool& pool, AckFrame& frame) const;

 private:
  static constexpr uint32_t kClosed = kNoIndex - 1;  // nothing is lent, and no gap may be filled

  bool lent() const { return older_ < kClosed; }
  uint64_t low() const { return high_ - length_ + 1; }
  size_t older_count(const OlderPool& pool) const { return lent() ? pool[older_].count : 0; }
  uint64_t floor(const OlderPool& pool) const;
  NumberRange range(const OlderPool& pool, size_t i) const {
    return i == 0 ? NumberRange{low(), high_} : pool[older_].ranges[i - 1];
  }
  void set_range(OlderPool& pool, size_t i, NumberRange range);
  void insert_at(OlderPool& pool, size_t i, NumberRange added);
  void settle(OlderPool& pool);
  void remove(OlderPool& pool, size_t first, size_t end);

  // The newest range. It ends with high_, which is 0 as long as nothing came (numbers start at 1).
  uint64_t high_ = 0;
  uint32_t length_ = 0;
  uint32_t older_ = kNoIndex;  // lent while there is a gap that may still be filled
};
static_assert(sizeof(ReceivedNumbers) == 16);

}  // namespace heddle::transport
