// The clock of events that a recording stamps itself instead of with the loop's time: the
// processor's tick counter, compared with the system's clock every 10 ms. Its error is bounded and
// measured, and it follows a slewed clock. It makes no system call where reading the clock makes
// none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::events {

// Converts ticks to times, from pairs of readings that the caller supplies.
class TickScale {
 public:
  // One comparison: the counter had the value `ticks` at some time between the two clock readings.
  struct Look {
    Nanos before;
    uint64_t ticks = 0;
    Nanos after;
  };

  // True if at() may be called; otherwise a new comparison is needed.
  bool knows(uint64_t ticks) const { return ticks - ticks_ < known_ticks_; }
  // At or before the true time, except for the scale's error. Requires knows().
  Nanos at(uint64_t ticks) const {
    return time_ + nanos(static_cast<int64_t>(((ticks - ticks_) * scale_) >> kScaleBits));
  }

  // False: the comparison took too long and was rejected.
  bool add(const Look& look);

  // The largest error of a time since the last take_error(), measured at comparisons, when the
  // scale was oldest; and the number of comparisons.
  struct Error {
    Nanos most;
    uint32_t looks = 0;
  };
  Error take_error();

 private:
  static constexpr uint32_t kScaleBits = 32;

  void begin_again(const Look& look);
  void note_error(const Look& look);

  // Start of the scale's measurement: 100 to 200 ms ago.
  Look since_;
  Look since_next_;
  bool begun_ = false;
  uint64_t scale_ = 0;  // nanoseconds per tick, times 2^32; 0: unknown
  uint64_t ticks_ = 0;  // of the latest comparison
  Nanos time_;
  uint64_t known_ticks_ = 0;
  Error error_;
};

// For one thread at a time.
class StampClock {
 public:
  // A null `clock` means that now() must not be called.
  explicit StampClock(Nanos (*clock)());

  // Monotonic. Reads the system's clock directly if the processor has no invariant counter, or if
  // the clock cannot be read quickly.
  Nanos now() {
    if (ticking_) {
      const uint64_t ticks = ticks_now();
      if (scale_.knows(ticks)) return last_ = std::max(last_, scale_.at(ticks));
    }
    return now_by_clock();
  }
  // See TickScale. Empty where now() reads the system's clock.
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
  uint32_t failures_ = 0;  // consecutive comparisons that took too long
  TickScale scale_;
  Nanos last_;
};

}  // namespace heddle::events
