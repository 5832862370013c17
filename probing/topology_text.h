// Topology text: a found fabric as a topology file, which the simulator, the planner and the
// acceptance test read. Comments have the certainty of each part.
#pragma once

#include <string>

#include "probing/found.h"

namespace heddle::probing {

// NICs that no probe connects with a switch are left out, as comments.
std::string topology_text(const FoundFabric& found);

}  // namespace heddle::probing
