// FailureLooks: when failed paths are a reason to look at a plan's file and at the routes: at once,
// and again while the switches agree on routes and another plan may come. A path that fails again
// and again is followed less closely. PlanFollower drives it.
#pragma once

#include <cstdint>

#include "base/nanos.h"

namespace heddle::engine {

class FailureLooks {
 public:
  // Of all failures until now. Whether some are new, and the time of those before has passed; those
  // meanwhile count at its end.
  bool begin(Nanos now, uint64_t failures);
  // Whether that was a short time ago.
  bool settling(Nanos now) const { return now < settled_at_; }

 private:
  uint64_t seen_ = 0;
  Nanos settled_at_;
  Nanos settles_;  // from begin() until then
};

}  // namespace heddle::engine
