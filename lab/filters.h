// Filters: the nftables rules that drop, corrupt, reorder and mark packets of a port. Pure, as
// batches.h. Losses happen where a packet arrives, marks where it is sent, before the queue.
#pragma once

#include <string>
#include <vector>

#include "lab/conditions.h"
#include "lab/layout.h"

namespace heddle::lab {

// Input for `nft -f` in the place of a direction's sending port (marks, reordering) or receiving
// port (black hole, loss, corruption). Applying it again keeps the counters.
std::string sender_filter(const Layout& layout, uint32_t link, bool forward,
                          const DirectionCondition& condition);
std::string receiver_filter(const Layout& layout, uint32_t link, bool forward,
                            const DirectionCondition& condition);

// Both filters for all ports of a place initially; empty if there is nothing to filter.
std::string place_filter(const Layout& layout, const Place& place, const Conditions& conditions);

// The rate of a link's virtual queue: bytes above it are marked.
BitsPerSec marking_rate(BitsPerSec rate);

}  // namespace heddle::lab
