// Fingerprint: equal for fabrics whose switches route equal entropies alike, over links of equal
// rates. Plans and leases carry it, and are for no other fabric.
#pragma once

#include <string>

#include "topology/topology.h"

namespace heddle::topology {

// 16 digits.
std::string fingerprint(const Topology& topology);

}  // namespace heddle::topology
