// Bus bandwidth as nccl-tests define it: the bandwidth of a call made comparable with a link's
// rate.
#pragma once

#include <cstdint>

#include "collectives/collective.h"

namespace heddle::collectives {

// Whether the size of a call counts a block for each rank.
bool in_blocks(Collective collective);
// By what algorithm bandwidth is multiplied to compare it with a link's rate.
double bus_factor(Collective collective, uint32_t ranks);

}  // namespace heddle::collectives
