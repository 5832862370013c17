// Rate places: the rate that each direction of a link has at least, from trains, and links that are
// slow beside their siblings: links between the same tiers in the same direction.
#pragma once

#include "probing/found.h"
#include "probing/observations.h"

namespace heddle::probing {

// Sets the rates of the links, and adds findings for slow ones.
void find_slow_links(const Observations& observations, FoundFabric& found);

}  // namespace heddle::probing
