// Loss places: which links lose packets, from the losses of routes (loss tomography: Duffield,
// Network tomography of binary network performance characteristics, IEEE Trans. Inf. Theory 2006).
// One lossy link after the other is chosen, each the one that makes the observations likeliest, as
// long as that is a great deal.
#pragma once

#include "probing/found.h"
#include "probing/observations.h"

namespace heddle::probing {

// Adds findings for links that lose a part of the packets. Flows of which none arrives are left to
// find_dead_links().
void find_lossy_links(const Observations& observations, FoundFabric& found);

}  // namespace heddle::probing
