// FailureLooks: when failed paths make PlanFollower check a plan's file and the routes: at once,
// and again while the switches agree on routes and another plan may come. A path that fails again
// and again is followed less closely. PlanFollower drives it.
#pragma once

#include <cstdint>

#include "base/nanos.h"

namespace heddle::engine {

class FailureLooks {
 public:
  // `failures`: the total until now. True if some are new and the settling time of those before has
  // passed; failures meanwhile count when it ends.
  bool begin(Nanos now, uint64_t failures);
  // True until the settling time of the latest failures has passed.
  bool settling(Nanos now) const { return now < settled_at_; }

 private:
  uint64_t seen_ = 0;
  Nanos settled_at_;
  Nanos settles_;  // from begin() until then
};

}  // namespace heddle::engine
