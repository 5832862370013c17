// ReorderWindow: how far and how long a segment may be overtaken on its own path before it counts
// as lost. Most networks keep order within a path, so it starts near zero; each repeat that proves
// spurious widens it, and time without one narrows it again (the adaptive window of RFC 8985, kept
// per path).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::transport {

class ReorderWindow {
 public:
  // A segment counts as lost when it is overtaken by more than numbers() and for longer than
  // time().
  uint64_t numbers() const { return numbers_; }
  Nanos time() const { return time_; }

  // A repeat proved spurious: the original arrived `late` after it had been given up, `behind`
  // numbers after the newest one. `limit` bounds the time, so that real loss is still found within
  // about a round trip.
  void widen(Nanos now, uint64_t behind, Nanos late, Nanos limit) {
    numbers_ = static_cast<uint16_t>(std::clamp<uint64_t>(behind, numbers_, kMaxNumbers));
    const Nanos wanted = std::max(time_ * 2, late + late / 4);
    time_ = std::min(std::max(wanted, kLeastStep), std::max(limit, kLeastStep));
    widened_at_ = now;
  }

  // Narrows after a quiet while; call it now and then.
  void relax(Nanos now) {
    const bool wide = time_.count != 0 || numbers_ != kStartNumbers;
    if (!wide || now - widened_at_ < kQuiet) return;
    time_ = time_ / 2 < kLeastStep ? Nanos{} : time_ / 2;
    numbers_ = std::max<uint16_t>(kStartNumbers, numbers_ / 2);
    widened_at_ = now;
  }

 private:
  static constexpr uint16_t kStartNumbers = 2;
  static constexpr uint16_t kMaxNumbers = 64;
  static constexpr Nanos kLeastStep = micros(20);
  static constexpr Nanos kQuiet = seconds(10);

  Nanos time_;
  Nanos widened_at_;
  uint16_t numbers_ = kStartNumbers;
};

}  // namespace heddle::transport
