// Look: finds the ways that the fabric has to a server of ping and perf, and measures a round trip
// over each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/cli/service/client.h"
#include "transport/fabric_ways.h"

namespace heddle::cli {

// A path of the connection, and what switches hash on of it.
struct WayPath {
  uint16_t path = 0;
  uint16_t source_port = 0;
  uint8_t nic = 0;  // of this host
};

// One way, and what takes it.
struct FoundWay {
  std::vector<std::string> routers;  // hop by hop; empty: it did not answer
  std::vector<WayPath> paths;
  bool works = false;    // a message went over it
  Nanos round_trip_min;  // there by this way, back by any; where it works
  Nanos round_trip_median;
};

struct FoundWays {
  std::string peer;
  uint32_t paths = 0;        // that were looked at
  uint32_t paths_asked = 0;  // more than `paths` where the other side allows fewer
  events::WaysVerdict verdict = events::WaysVerdict::kSilentRouter;
  uint32_t hops = 0;          // routers looked at on each
  uint32_t silent_paths = 0;  // paths on which the last of them did not answer
  std::vector<FoundWay> ways;
};

// Errors: kCancelled (a signal came), why the connection failed.
Result<FoundWays> look_for_ways(Client& client, uint32_t paths_asked);

}  // namespace heddle::cli
