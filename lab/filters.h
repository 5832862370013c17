// Filters: the rules of nftables that lose, corrupt, reorder and mark packets of a port. Pure, as
// batches.h. Losses happen where a packet arrives, marks where it is sent, before the queue.
#pragma once

#include <string>
#include <vector>

#include "lab/conditions.h"
#include "lab/layout.h"

namespace heddle::lab {

// For `nft -f` in the place of the port that sends in a direction (marks, overtaking) or receives
// it (black hole, loss, corruption). They may be given again: counters go on.
std::string sender_filter(const Layout& layout, uint32_t link, bool forward,
                          const DirectionCondition& condition);
std::string receiver_filter(const Layout& layout, uint32_t link, bool forward,
                            const DirectionCondition& condition);

// Both for all ports of a place at the beginning; empty where nothing filters.
std::string place_filter(const Layout& layout, const Place& place, const Conditions& conditions);

// The virtual queue of a link: what comes above this rate is marked.
BitsPerSec marking_rate(BitsPerSec rate);

}  // namespace heddle::lab
