// Reader of ASTRA-sim's network descriptions (.yml): lists of topologies, NPUs, bandwidths and
// latencies, one entry a dimension.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/topology.h"

namespace heddle::topology {

// Whether a topology is read from this path by parse_astra_network().
bool is_astra_network(std::string_view path);

// A Switch of n NPUs is a switch with hosts h0 to h(n-1), whose cables have the bandwidth (GB/s)
// and the latency (ns); a Ring or FullyConnected of two NPUs is a cable. Others are refused: their
// NPUs forward for each other, which hosts here do not. `name` is the file's name in errors.
// Errors: kInvalid with file and line.
Result<Topology> parse_astra_network(std::string_view text, const std::string& name);

}  // namespace heddle::topology
