// See stamp_clock.h.
#include "events/stamp_clock.h"

#include "events/params.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace heddle::events {
namespace {

// True for an invariant counter, whose rate depends neither on the core's frequency nor on sleep
// states: Intel's manual, volume 3, "Invariant TSC".
bool ticks_evenly() {
#if defined(__x86_64__)
  constexpr unsigned kPowerManagement = 0x80000007;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(kPowerManagement, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
  return false;
#endif
}

}  // namespace

bool TickScale::add(const Look& look) {
  if (look.after - look.before > params::stamps::kLongestLook) return false;
  const Nanos span = look.before - since_.before;
  const uint64_t ticks = look.ticks - since_.ticks;
  const bool jumped = ticks >= params::stamps::kMostTicks ||
                      (scale_ != 0 && look.ticks - ticks_ >= params::stamps::kMostTicks);
  if (!begun_ || jumped || span < Nanos{} || span > params::stamps::kLongestSpan) {
    begin_again(look);
    return true;
  }
  if (span < params::stamps::kLooksApart || ticks == 0) {
    return true;  // too short to measure a scale
  }
  const uint64_t scale = (static_cast<uint64_t>(span.count) << kScaleBits) / ticks;
  if (scale_ != 0) {
    if (std::max(scale, scale_) - std::min(scale, scale_) > scale_ / params::stamps::kScaleChange) {
      begin_again(look);
      return true;
    }
    note_error(look);
  }
  scale_ = scale;
  ticks_ = look.ticks;
  time_ = look.before;
  known_ticks_ = ticks * static_cast<uint64_t>(params::stamps::kLooksApart.count) /
                 static_cast<uint64_t>(span.count);
  if (look.before - since_next_.before >= params::stamps::kScaleSpan) {
    since_ = since_next_;
    since_next_ = look;
  }
  return true;
}

void TickScale::begin_again(const Look& look) {
  begun_ = true;
  since_ = since_next_ = look;
  scale_ = 0;
  known_ticks_ = 0;
}

void TickScale::note_error(const Look& look) {
  const Nanos told = at(look.ticks);
  error_.most = std::max({error_.most, told - look.before, look.after - told});
  ++error_.looks;
}

TickScale::Error TickScale::take_error() {
  const Error taken = error_;
  error_ = {};
  return taken;
}

StampClock::StampClock(Nanos (*clock)()) : clock_(clock), ticking_(ticks_evenly()) {}

Nanos StampClock::now_by_clock() {
  const Nanos before = clock_();
  if (ticking_) {
    TickScale::Look quickest{before, ticks_now(), clock_()};
    for (int i = 1; i < params::stamps::kLookTries &&
                    quickest.after - quickest.before > params::stamps::kQuickLook;
         ++i) {
      const TickScale::Look look{clock_(), ticks_now(), clock_()};
      if (look.after - look.before < quickest.after - quickest.before) quickest = look;
    }
    failures_ = scale_.add(quickest) ? 0 : failures_ + 1;
    ticking_ = failures_ < params::stamps::kMostFailures;
  }
  return last_ = std::max(last_, before);
}

}  // namespace heddle::events
