// Dead links: flows of which no packet arrives end behind the last switch that answered; the link
// that follows it is dead.
#pragma once

#include "probing/found.h"
#include "probing/observations.h"
#include "probing/switch_groups.h"

namespace heddle::probing {

// Adds findings, and links that no packet crossed but that must be there.
void find_dead_links(const Observations& observations, const SwitchGroups& groups,
                     FoundFabric& found);

}  // namespace heddle::probing
