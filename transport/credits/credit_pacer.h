// CreditPacer: when the next credit may be given, so that what is sent for it arrives at the rate
// of the link.
#pragma once

#include <algorithm>

#include "base/nanos.h"
#include "transport/credits/params.h"

namespace heddle::transport {

class CreditPacer {
 public:
  static constexpr Nanos kCatchUp = params::credits::kCatchUp;

  // `idle`: nothing is outstanding. Time without demand is not caught up: the first sender would
  // get all of that credit.
  void begin_poll(bool idle) {
    catch_up_ = idle ? Nanos{} : kCatchUp;
    due_at_ = Nanos::never();
  }
  // Whether a sender that could be given credit now has to wait; it is due at due_at() then.
  bool holds_back(Nanos now) {
    if (now >= ready_at_) return false;
    due_at_ = ready_at_;
    return true;
  }
  Nanos due_at() const { return due_at_; }
  // `takes`: time of what was given on the link.
  void note_given(Nanos now, Nanos takes) {
    ready_at_ = std::max(ready_at_, now - catch_up_) + takes;
  }

 private:
  Nanos ready_at_;                 // the next credit may be given
  Nanos due_at_ = Nanos::never();  // the same, if a sender waits for it
  Nanos catch_up_;                 // what a late timer may make good
};

}  // namespace heddle::transport
