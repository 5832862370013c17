// Route counts: the routes that machines see between each other where no topology says how many
// there should be. Private to the stage reach.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "acceptance/session.h"

namespace heddle::acceptance {

// Traces the routes from each host to the next one, over NICs of each name, and adds rows: how many
// there are, for information unless the expectations say how many; why that is not known, but for
// further NICs that show no route; and pairs with a route on which messages vanish, which fail.
// Errors: kSystem.
Result<void> count_routes(Session& session, StageReport& report);

// The command that traces the routes of a pair.
std::vector<std::string> paths_words(const Session& session, const HostPair& pair);

// What one trace found, of the document of `heddle paths`. Public for tests.
struct SeenRoutes {
  uint64_t routes = 0;
  uint64_t lost = 0;    // of them, on which no message arrives
  std::string unknown;  // why they are not all; empty: they are
  bool operator==(const SeenRoutes&) const = default;
};
SeenRoutes seen_routes_in(const CommandEnd& end);

}  // namespace heddle::acceptance
