// Tenant: what lives in the world of a FlowRun beside its flows, such as the ranks of a job. It
// adds processes of its own, gets ready before time 0 and works from then on.
#pragma once

#include "transport/statistics.h"

namespace heddle::simulator {

class Tenant {
 public:
  virtual ~Tenant() = default;
  // Whether time 0 may come as far as it is concerned; asked when it calls FlowRun::tenant_ready().
  virtual bool ready() const = 0;
  // It is time 0.
  virtual void begin() = 0;
  // Whether nothing is left to do; asked after every event.
  virtual bool over() const = 0;
  // Adds the counters of what its processes send.
  virtual void add_statistics(transport::ConnectionStatistics& sum) const = 0;
};

}  // namespace heddle::simulator
