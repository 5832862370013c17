// Rows of the latencies of pairs of hosts, beside each other. The stage pairs adds them. A pure
// function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "acceptance/report.h"
#include "acceptance/stages/flows.h"
#include "topology/topology.h"

namespace heddle::acceptance {

// A row for each pair without a figure, for each whose least latency is far above that of pairs
// whose routes have as many links (kLatencyFactor, kLatencyExtraUs), and one of all others.
std::vector<Row> latency_rows(const topology::Topology& topology,
                              const std::vector<LatencyFigures>& latencies,
                              const std::function<std::string(const HostPair&)>& name_of);

}  // namespace heddle::acceptance
