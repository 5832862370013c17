// SpinBudget: how long a thread that has nothing to do should spin before it sleeps. Spinning pays
// where work keeps coming soon; where it has not come soon for a while, a thread that spins first
// only burns its core.
#pragma once

#include <cstdint>

#include "base/nanos.h"

namespace heddle::engine {

class SpinBudget {
 public:
  // Work that comes within `limit` is soon. It must be longer than a round trip between two
  // sleepers, or two sides that both sleep would never find out how soon the other could answer.
  explicit SpinBudget(Nanos limit) : limit_(limit) {}

  // A time without work lasted for `idle`, whether it ended by work or by a deadline.
  void on_idle_ended(Nanos idle) {
    recent_ = static_cast<uint8_t>(recent_ << 1 | (idle <= limit_ ? 1 : 0));
  }

  // Zero when none of the latest eight times ended soon.
  Nanos budget() const { return recent_ == 0 ? Nanos{} : limit_; }

 private:
  Nanos limit_;
  uint8_t recent_ = 1;
};

}  // namespace heddle::engine
