// Switch match: which switch of a topology a found one is. Private to comparison.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "probing/found.h"
#include "topology/topology.h"

namespace heddle::probing {

struct MatchBasis {
  const std::vector<std::optional<uint32_t>>& nics;  // of the topology, by found NIC
  const std::vector<std::pair<topology::Node, topology::Node>>& links;  // of the topology
};

// One pair after the other: the one whose neighbors, as far as they are matched, agree most; of
// equals the one beside the latest match, so that symmetric parts are matched part by part.
std::vector<std::optional<uint32_t>> match_switches(const FoundFabric& found,
                                                    const topology::Topology& truth,
                                                    const MatchBasis& basis);

}  // namespace heddle::probing
