// Changes of a fabric: links of a higher rate, one switch in place of all, lossless switches for
// RoCE. Each takes a topology and returns the changed one. Pure; `heddle size report` simulates
// them.
#pragma once

#include <cstdint>

#include "planner/params.h"
#include "topology/topology.h"

namespace heddle::planner {

enum class WhichLinks : uint8_t { kHosts, kSwitches, kAll };

// `factor` times the rate, with queues, marking thresholds and switch memory that hold as many
// microseconds as before. Links without a rate stay as they are.
topology::Topology faster(topology::Topology topology, WhichLinks which, uint64_t factor);

// All NICs on one switch, with their links as they are: no fabric of that rate is better. Faults
// and changes are gone; a cable between two NICs becomes a link of each.
topology::Topology on_one_switch(const topology::Topology& topology);

// Switches are lossless (PFC) and mark by DCQCN's thresholds, those of 40 Gb/s (Zhu et al., SIGCOMM
// 2015) in proportion to a link's rate; all have memory for kLosslessRoundTrips round trips of each
// port.
using params::kLosslessRoundTrips;
topology::Topology lossless(topology::Topology topology);

// Whether every link has a rate: without, no buffer is large enough for PFC.
bool has_rates(const topology::Topology& topology);
// Whether a link leads to no host.
bool between_switches(const topology::Link& link);

}  // namespace heddle::planner
