// The fabric beside a matrix: its hosts, switches and links, with what is known of each link's
// load.
#pragma once

#include <string>

#include "apps/cli/service/control.h"
#include "base/result.h"
#include "insight/matrix.h"

namespace heddle::cli {

// Of a topology file. `by_host` is the recording's traffic between hosts: it tells the load of
// links of hosts that have one. `counters`, where it is given, is what `heddle lab status --json`
// said afterwards: it tells that of all. Errors: those of read_topology_file(); kUnavailable,
// kInvalid.
Result<Json> fabric_json(const std::string& topology, const std::string& counters,
                         const insight::Matrix& by_host);

}  // namespace heddle::cli
