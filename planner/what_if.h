// WhatIf: what the time of a step depends on, so that a page can calculate it again with other
// rates, replicas, sites and distances. Its formulas are those of size_cluster.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "planner/size_cluster.h"
#include "planner/size_traffic.h"

namespace heddle::planner {

// An exchange of data parallel ranks. With D replicas its group has D x context / divisor ranks.
struct WhatIfExchange {
  Movement movement;
  uint64_t divisor = 1;
  uint64_t stride = 1;  // of ranks
};

struct WhatIf {
  JobShape job;                  // resolved
  double compute_s = 0;          // of a step
  double bubble_share = 0;       // of computation and communication inside layers
  double window_share = 0;       // of the two, with all overlap that is possible
  double nvlink_bits_per_s = 0;  // that copies reach; 0: not known
  double nic_share = 0;          // payload of NICs' rate
  double header_bytes = 0;       // of a packet
  double mtu_bytes = 0;          // payload of a packet
  double seconds_a_km = 0;       // one way
  std::vector<Movement> layers;  // that the GPU waits for
  std::vector<WhatIfExchange> data;  // of two replicas and more
};

// Errors: as size_cluster().
Result<WhatIf> what_if(const ModelShape& model, const ClusterQuestion& question);

}  // namespace heddle::planner
