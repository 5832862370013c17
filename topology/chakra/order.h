// The order in which a rank of a job lists the nodes of its trace, and the labels by which they
// wait for each other. A pure function of a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "topology/chakra/trace.h"

namespace heddle::topology::chakra {

struct OrderedNode {
  // No node, and no time: its end is that of several others.
  static constexpr uint32_t kJoin = UINT32_MAX;

  uint32_t node = 0;            // index in the trace
  uint32_t label = 0;           // used again when no later node depends on it
  std::vector<uint32_t> after;  // labels, rising
};

struct NodeOrder {
  std::vector<OrderedNode> nodes;
  uint32_t labels = 0;
  uint64_t missing = 0;  // dependencies on nodes that are not in the trace, which count as ended
  // Nodes that depended on sends. In ASTRA-sim a send ends when it has left; heddle's ends at the
  // receiver, which has to have posted. So they wait for what the send waits for instead: ranks
  // that send to each other before they receive make progress. Sends with kBlocking are waited for.
  uint64_t freed = 0;
};

// Every node is behind those that it depends on; of nodes that may come next, that with the
// smallest id does. Errors: kInvalid for ids that are used twice or missing, and for a cycle, with
// the node.
Result<NodeOrder> order_of(const Trace& trace);

}  // namespace heddle::topology::chakra
