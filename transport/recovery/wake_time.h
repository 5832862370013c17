// WakeTime: the earliest of several deadlines, as a lower bound: it may come due with nothing to
// do, and the parts that set it then set it again.
#pragma once

#include <algorithm>

#include "base/nanos.h"

namespace heddle::transport {

class WakeTime {
 public:
  Nanos at() const { return at_; }  // never(): nothing waits
  void by(Nanos at) { at_ = std::min(at_, at); }
  void clear() { at_ = Nanos::never(); }

 private:
  Nanos at_ = Nanos::never();
};

}  // namespace heddle::transport
