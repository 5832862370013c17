// Takeover: decides whether the caller's threads or the helper drive an endpoint in inline mode. It
// is a pure function of times, so the simulator runs it too; helper_thread.h is the thread that
// applies it. The helper may drive after the caller has been away for `patience`, until the caller
// returns. No handover message exists: both sides only compare times.
#pragma once

#include "base/nanos.h"
#include "engine/params.h"

namespace heddle::engine {

class Takeover {
 public:
  // The helper's poll interval where the network has no descriptor to wait on.
  static constexpr Nanos kBlindPoll = params::kBlindPoll;

  Takeover(Nanos now, Nanos patience) : patience_(patience), caller_at_(now) {}

  // A caller's thread ran a turn, or is about to.
  void on_caller(Nanos now) {
    if (now > caller_at_) caller_at_ = now;
  }

  // Between hold() and let_go() a caller's thread drives from inside a waiting call.
  void hold() { ++holders_; }
  void let_go(Nanos now) {
    --holders_;
    on_caller(now);
  }

  bool helper_may_drive(Nanos now) const { return holders_ == 0 && now - caller_at_ >= patience_; }

  bool held() const { return holders_ > 0; }

  // The time of the helper's next check after one at `now`; never() while held, because let_go()'s
  // caller nudges the helper. `wanted` is the next turn's time, as the latest turn returned;
  // `watches_input`: input wakes the helper as well.
  Nanos next_look(Nanos now, Nanos wanted, bool watches_input) const;

 private:
  Nanos patience_;
  Nanos caller_at_;
  int holders_ = 0;
};

}  // namespace heddle::engine
