// Delay places: which links take longer than others, from one-way delays. Only flows of one pair of
// NICs are compared, by the least delay of each: the clocks of the hosts cancel out.
#pragma once

#include <vector>

#include "base/nanos.h"
#include "probing/found.h"
#include "probing/observations.h"

namespace heddle::probing {

// Adds findings for links over which all flows arrive later than those beside them.
void find_delayed_links(const Observations& observations, FoundFabric& found);

// Groups of delays that are apart by more than their spread: flows of a pair whose delays form
// several groups take at least as many routes.
uint32_t delay_groups(std::vector<Nanos> delays);

}  // namespace heddle::probing
