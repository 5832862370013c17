// FabricRoutes: the result of route discovery (path/discovery.h): the distinct routes of the fabric
// between a connection's hosts, their routers, and the route of each path.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "events/events.h"

namespace heddle::transport {

using RouterAddress = std::array<uint8_t, 16>;  // as Address::host; zeros: it did not answer

struct FabricRoutes {
  bool under_way = false;  // discovery has not ended; the other fields are not valid yet
  events::RoutesVerdict verdict = events::RoutesVerdict::kSilentRouter;
  // Distinct sequences of `routers`: all of the fabric's routes if the verdict is kKnown, else a
  // lower bound.
  uint32_t seen = 0;
  // Routers probed on each path. kSilentRouter: the last router did not answer on some paths.
  uint8_t hops = 0;
  std::vector<uint16_t> route_of;      // per path; routes are numbered from 0
  std::vector<RouterAddress> routers;  // `hops` per path

  uint32_t count() const { return verdict == events::RoutesVerdict::kKnown ? seen : 0; }
  const RouterAddress& router(uint16_t path, uint8_t hop) const {
    return routers[size_t{path} * hops + hop - 1];
  }
};

// Whether `entropies` random entropies show all routes with a probability of at least 99%, when
// `routes` routes were found and switches hash evenly: (routes + 1)(1 - 1/(routes + 1))^entropies
// bounds the probability that one more route exists and was missed.
bool are_enough(uint32_t entropies, uint32_t routes);

}  // namespace heddle::transport
