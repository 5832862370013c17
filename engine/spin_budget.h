// SpinBudget: how long an idle thread should spin before it sleeps. Spinning pays off only if work
// tends to arrive within the limit; otherwise it wastes a core.
#pragma once

#include <cstdint>

#include "base/nanos.h"

namespace heddle::engine {

class SpinBudget {
 public:
  // Work that arrives within `limit` counts as soon. `limit` must exceed a round trip between two
  // sleeping sides, or neither would learn how fast the other can answer.
  explicit SpinBudget(Nanos limit) : limit_(limit) {}

  // Reports an idle period of length `idle`, ended by work or by a deadline.
  void on_idle_ended(Nanos idle) {
    recent_ = static_cast<uint8_t>(recent_ << 1 | (idle <= limit_ ? 1 : 0));
  }

  // Zero if none of the last eight idle periods ended within the limit.
  Nanos budget() const { return recent_ == 0 ? Nanos{} : limit_; }

 private:
  Nanos limit_;
  uint8_t recent_ = 1;
};

}  // namespace heddle::engine
