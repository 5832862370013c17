// A fabric as the text of a topology file, with slower links: what one machine can carry.
#pragma once

#include <string>

#include "topology/topology.h"

namespace heddle::cli {

// By how much links must be slower for all hosts together to send no more than a machine carries;
// at least 1.
double slowing_of(const topology::Topology& topology);

// Hosts, switches and links one by one, without faults. Rates are divided by `slowing`.
std::string slowed_text(const topology::Topology& topology, double slowing);

}  // namespace heddle::cli
