// A topology as the text of a topology file (file.h): hosts, switches and links one by one, with
// all that their shapes have. docs/reference/topology.md has the schema.
#pragma once

#include <string>

#include "topology/topology.h"

namespace heddle::topology {

// parse_topology() of it gives the same hosts, switches and links, in this order; of hash seeds the
// lower 63 bits, as TOML has no more. Faults and changes are left out.
std::string topology_text(const Topology& topology);

}  // namespace heddle::topology
