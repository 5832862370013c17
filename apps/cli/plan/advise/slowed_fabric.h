// A fabric with slower links: what one machine can carry.
#pragma once

#include "topology/topology.h"

namespace heddle::cli {

// By how much links must be slower for all hosts together to send no more than a machine carries;
// at least 1.
double slowing_of(const topology::Topology& topology);

// With the rates of its links divided by `slowing`; not below 1 kbit/s, which a file can name.
topology::Topology slowed(topology::Topology topology, double slowing);

}  // namespace heddle::cli
