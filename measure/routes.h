// Discovers the routes of the fabric to a server of ping and perf, and measures the round trip on
// each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/client.h"
#include "measure/progress.h"
#include "transport/fabric_routes.h"

namespace heddle::measure {

// A path of the connection, and the port that switches hash.
struct RoutePath {
  uint16_t path = 0;
  uint16_t source_port = 0;
  uint8_t nic = 0;  // of this host
};

// One route, and the paths on it.
struct FoundRoute {
  std::vector<std::string> routers;  // hop by hop; empty: it did not answer
  std::vector<RoutePath> paths;
  bool works = false;    // a message was delivered on it
  Nanos round_trip_min;  // there on this route, back on any; valid if it works
  Nanos round_trip_median;
};

struct FoundRoutes {
  std::string peer;
  uint32_t paths = 0;        // probed
  uint32_t paths_asked = 0;  // requested; more than `paths` if the peer allows fewer
  events::RoutesVerdict verdict = events::RoutesVerdict::kSilentRouter;
  uint32_t hops = 0;          // routers probed on each path
  uint32_t silent_paths = 0;  // paths on which the last of them did not answer
  std::vector<FoundRoute> routes;
};

// Discovers the routes and measures each. Errors: kCancelled (a signal arrived), those of the
// connection.
Result<FoundRoutes> find_routes(Client& client, uint32_t paths_asked, const Progress& progress);

}  // namespace heddle::measure
