// The fabric beside a matrix: its hosts, switches and links, with what is known of each link's
// load.
#pragma once

#include <string>

#include "apps/cli/json.h"
#include "base/result.h"
#include "insight/traffic.h"

namespace heddle::cli {

struct FabricSources {
  std::string topology;  // a topology file
  std::string
      counters;         // what `heddle lab status --json` or `heddle sim --json` said; may be empty
  std::string routers;  // a file of routers' addresses and names beside a lab's; may be empty
};

// What is known of each link's load, and by what: "counters" where they are given; else "recorded",
// of links of hosts that have one and were recorded; else "traced", what went on paths that were
// found to cross it. Errors: those of read_topology_file() and of read_routers(); kUnavailable,
// kInvalid.
Result<Json> fabric_json(const FabricSources& sources, const insight::Traffic& traffic);

}  // namespace heddle::cli
