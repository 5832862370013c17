// The clock of what a recording stamps by itself, not with its loop's time: the processor's counter
// of ticks, held against the system's clock each 10 ms, so that it is off by a known little and
// follows where that clock is slewed. It makes no system call where reading the clock makes none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::events {

// Ticks to times, from looks at both; it reads nothing itself.
class TickScale {
 public:
  // The counter stood at `ticks` at some time between the two.
  struct Look {
    Nanos before;
    uint64_t ticks = 0;
    Nanos after;
  };
  // A look that took longer tells too little.
  static constexpr Nanos kLongestLook = micros(2);
  // For so long after a look times are told without another.
  static constexpr Nanos kLooksApart = millis(10);

  // Whether at() can tell; else a look is due.
  bool knows(uint64_t ticks) const { return ticks - ticks_ < known_ticks_; }
  // At or before the true time, but for the scale's error. Requires knows().
  Nanos at(uint64_t ticks) const {
    return time_ + nanos(static_cast<int64_t>(((ticks - ticks_) * scale_) >> kScaleBits));
  }

  // False: it took too long and tells nothing.
  bool add(const Look& look);

  // The most that a time told since the last call of take_error() may have been off by, as looks
  // showed when it had been told for longest; and how many looks that were.
  struct Error {
    Nanos most;
    uint32_t looks = 0;
  };
  Error take_error();

 private:
  static constexpr uint32_t kScaleBits = 32;

  void begin_again(const Look& look);
  void note_error(const Look& look);

  // From when on the scale is measured: one or two tenths of a second ago.
  Look since_;
  Look since_next_;
  bool begun_ = false;
  uint64_t scale_ = 0;  // nanoseconds a tick, times 2^32; 0: not known
  uint64_t ticks_ = 0;  // of the latest look
  Nanos time_;
  uint64_t known_ticks_ = 0;
  Error error_;
};

// For one thread at a time.
class StampClock {
 public:
  // Null: none at all, and now() must not be called.
  explicit StampClock(Nanos (*clock)());

  // Never before what it told last. Where the processor has no counter that ticks evenly, and where
  // the clock cannot be read quickly, it is the clock itself.
  Nanos now() {
    if (ticking_) {
      const uint64_t ticks = ticks_now();
      if (scale_.knows(ticks)) return last_ = std::max(last_, scale_.at(ticks));
    }
    return now_by_clock();
  }
  // See TickScale. None where times are the clock's.
  TickScale::Error take_error() { return scale_.take_error(); }

 private:
  static uint64_t ticks_now() {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
  }
  Nanos now_by_clock();

  Nanos (*const clock_)();
  bool ticking_;
  uint32_t failures_ = 0;  // looks in a row that took too long
  TickScale scale_;
  Nanos last_;
};

}  // namespace heddle::events
