// See bus_bandwidth.h.
#include "collectives/bus_bandwidth.h"

namespace heddle::collectives {

bool in_blocks(Collective collective) {
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return true;
    default:
      return false;
  }
}

double bus_factor(Collective collective, uint32_t ranks) {
  const double share = static_cast<double>(ranks - 1) / ranks;
  if (collective == Collective::kAllReduce) return 2 * share;
  return in_blocks(collective) ? share : 1;
}

}  // namespace heddle::collectives
