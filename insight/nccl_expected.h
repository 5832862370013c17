// Expected traffic of NCCL's rings and trees: the bytes that a rank sends by the order of ranks
// that NCCL logged, in place of rank order. The counterpart of expected.h for such communicators.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "insight/expected.h"
#include "topology/nccl_graph.h"

namespace heddle::insight {

// What `rank` sends to each peer, payload only, with the data split evenly over all channels (NCCL
// may use fewer for small calls); a peer may be listed more than once. Calls by other algorithms
// than ring and tree are as in expected_sends(). Returns nothing where that does, where `graph` is
// of another number of ranks, has no such rings or trees, and for rooted calls by a tree.
std::optional<std::vector<Share>> nccl_expected_sends(const CallShape& shape, uint32_t rank,
                                                      const topology::NcclGraph& graph);

}  // namespace heddle::insight
