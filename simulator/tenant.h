// Tenant: other processes in the world of a FlowRun, such as the ranks of a job. It adds its own
// processes, prepares before time 0 and runs from then on.
#pragma once

#include "transport/statistics.h"

namespace heddle::simulator {

class Tenant {
 public:
  virtual ~Tenant() = default;
  // Whether it is ready for time 0; checked when it calls FlowRun::tenant_ready().
  virtual bool ready() const = 0;
  // Called at time 0.
  virtual void begin() = 0;
  // True if it has nothing left to do; checked after every event.
  virtual bool over() const = 0;
  // Adds the counters of its processes' sending connections.
  virtual void add_statistics(transport::ConnectionStatistics& sum) const = 0;
};

}  // namespace heddle::simulator
