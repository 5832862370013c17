// KnownRoutes: an optional interface of a datapath whose network's routes are known without
// discovery, as in the simulator. PlanFollower asks it for the plan's shares of a connection's
// paths, and again after routes have changed.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/address.h"
#include "transport/endpoint.h"

namespace heddle::engine {

class KnownRoutes {
 public:
  virtual ~KnownRoutes() = default;
  // For the connection to this peer, which has opened; none: its paths are chosen adaptively.
  virtual std::vector<transport::PlannedShare> shares_of(const transport::Address& peer) const = 0;
  // How often routes have changed.
  virtual uint32_t changes() const = 0;
};

}  // namespace heddle::engine
