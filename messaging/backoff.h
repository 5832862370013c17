// Backoff: how long to wait until a server is tried again: doubled each time, and a quarter more or
// less, so that the monitors of a site do not come all at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "base/random.h"
#include "messaging/params.h"

namespace heddle::messaging {

class Backoff {
 public:
  explicit Backoff(uint64_t seed) : random_(seed) {}

  Nanos next() {
    const auto quarter = static_cast<uint64_t>(wait_.count / 4);
    const Nanos made{wait_.count - static_cast<int64_t>(quarter) +
                     static_cast<int64_t>(random_.below(2 * quarter + 1))};
    wait_ = std::min(wait_ * 2, params::kLongestRetry);
    return made;
  }
  // The server has confirmed something.
  void reset() { wait_ = params::kFirstRetry; }

 private:
  Random random_;
  Nanos wait_ = params::kFirstRetry;
};

}  // namespace heddle::messaging
