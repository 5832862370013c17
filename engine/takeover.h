// Takeover: who drives an endpoint in inline mode, the caller's threads or the helper. A pure
// policy of times, so that the simulator runs it too; helper_thread.h is the thread that obeys it.
// The caller drives as long as it comes by. When it stays away for `patience`, the helper may drive
// until the caller returns; nothing is handed over by a message, both only look at the time.
#pragma once

#include "base/nanos.h"

namespace heddle::engine {

class Takeover {
 public:
  // Where the network cannot be watched, the helper looks for input so often.
  static constexpr Nanos kBlindPoll = millis(1);

  Takeover(Nanos now, Nanos patience) : patience_(patience), caller_at_(now) {}

  // A thread of the caller drove, or is about to.
  void on_caller(Nanos now) {
    if (now > caller_at_) caller_at_ = now;
  }

  // A thread of the caller drives by itself from hold() to let_go(): it is inside a waiting call.
  void hold() { ++holders_; }
  void let_go(Nanos now) {
    --holders_;
    on_caller(now);
  }

  bool helper_may_drive(Nanos now) const { return holders_ == 0 && now - caller_at_ >= patience_; }

  bool held() const { return holders_ > 0; }

  // When the helper should look again, after it looked at `now`; never() while held: whoever lets
  // go tells it. `wanted` is what the driver's latest turn answered; `watches_input`: the helper is
  // woken by input as well.
  Nanos next_look(Nanos now, Nanos wanted, bool watches_input) const;

 private:
  Nanos patience_;
  Nanos caller_at_;
  int holders_ = 0;
};

}  // namespace heddle::engine
