// Routes: the switches that each flow crosses, and the links that follow from them.
#pragma once

#include <vector>

#include "probing/found.h"
#include "probing/observations.h"
#include "probing/switch_groups.h"

namespace heddle::probing {

// The route of each flow, as far as answers and positions show it.
std::map<FlowKey, FoundRoute> resolve_routes(const Observations& observations,
                                             const SwitchGroups& groups);

// The hops of a route, those to and from places that are not known left out. The first is
// from its NIC, and if the flow arrives, the last one to its NIC.
std::vector<Hop> hops_of(const FlowKey& key, const FoundRoute& route);

// Makes the links of `found` from its routes; cables to NICs from `groups`.
void make_links(const Observations& observations, const SwitchGroups& groups, FoundFabric& found);

// Adds a link without flows unless there is one.
void add_link(FoundFabric& found, const Hop& hop, Certainty certainty);

// Gives switches that do not answer, between two that do, a place: one for all that may be the
// same. A known switch takes it where exactly one fits. Where switches limit their answers, a gap
// that one of them may fill stays one.
void fill_gaps(const Observations& observations, FoundFabric& found);

}  // namespace heddle::probing
