// Loads of a fabric's links from traced paths: the bytes on each path of each connection, added to
// every link of the path's route.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/result.h"
#include "insight/traffic.h"
#include "topology/topology.h"

namespace heddle::cli {

// Bytes from one node's label to another's; of parallel links together.
using LinkLoads = std::map<std::pair<std::string, std::string>, uint64_t>;
// Which switch a router's address is of.
using RouterNames = std::map<insight::Router, std::string>;

struct TracedLoads {
  LinkLoads loads;
  uint64_t traced_bytes = 0;    // on the wire, on paths whose every link is known
  uint64_t untraced_bytes = 0;  // on others
};

// Those of a lab's switches.
RouterNames lab_routers(const topology::Topology& fabric);
// And those of a file with an address and a name in each line, as /etc/hosts has them. Errors: of
// read_text_file(), kInvalid.
Result<void> read_routers(const std::string& file, const topology::Topology& fabric,
                          RouterNames& names);

TracedLoads traced_loads(const insight::Traffic& traffic, const topology::Topology& fabric,
                         const RouterNames& names);

}  // namespace heddle::cli
