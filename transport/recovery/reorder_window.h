// ReorderWindow: how far and how long a segment may be overtaken on its own path before it counts
// as lost. Most networks keep order within a path, so it starts near zero; each
// retransmission that proves spurious widens it, and time without one narrows it again (the
// adaptive window of RFC 8985, kept per path).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "transport/params.h"

namespace heddle::transport {

class ReorderWindow {
 public:
  // A segment counts as lost when it is overtaken by more than numbers() and for longer than
  // time().
  uint64_t numbers() const { return numbers_; }
  Nanos time() const { return {time_}; }

  // A retransmission proved spurious: the original arrived `late` after it was declared lost,
  // `behind` numbers after the newest one. `limit` bounds the time, so that real loss is still
  // found within about a round trip.
  void widen(Nanos now, uint64_t behind, Nanos late, Nanos limit) {
    numbers_ = static_cast<uint8_t>(std::clamp<uint64_t>(behind, numbers_, kMaxNumbers));
    const Nanos wanted = std::max({time() * 2, late + late / 4, kLeastStep});
    set_time(std::min(wanted, std::max(limit, kLeastStep)));
    widened_at_ = coarse(now);
  }

  // Narrows after a quiet while; call it now and then.
  void relax(Nanos now) {
    const bool wide = time_ != 0 || numbers_ != kStartNumbers;
    if (!wide || static_cast<uint16_t>(coarse(now) - widened_at_) < kQuiet) return;
    set_time(time() / 2 < kLeastStep ? Nanos{} : time() / 2);
    numbers_ = std::max<uint8_t>(kStartNumbers, numbers_ / 2);
    widened_at_ = coarse(now);
  }

 private:
  static constexpr uint8_t kStartNumbers = params::reorder::kStartNumbers;
  static constexpr uint8_t kMaxNumbers = params::reorder::kMaxNumbers;
  static constexpr Nanos kLeastStep = params::reorder::kLeastStep;
  static constexpr uint16_t kQuiet = params::reorder::kQuiet;

  // Steps of 134 ms: when it was widened need not be known better, and there is one a path.
  static uint16_t coarse(Nanos time) { return static_cast<uint16_t>(time.count >> 27); }
  void set_time(Nanos time) {
    time_ = static_cast<uint32_t>(std::min<int64_t>(time.count, UINT32_MAX));
  }

  uint32_t time_ = 0;  // ns
  uint16_t widened_at_ = 0;
  uint8_t numbers_ = kStartNumbers;
};
static_assert(sizeof(ReorderWindow) == 8);

}  // namespace heddle::transport
