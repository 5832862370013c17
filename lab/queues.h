// Queues: the queueing disciplines of a port, as input for tc. A limited link is a token bucket
// before a queue of a given size in bytes. A link that reorders has a second queue with priority:
// its packets overtake all packets in the first.
#pragma once

#include <string>

#include "lab/conditions.h"
#include "lab/layout.h"

namespace heddle::lab {

// The class of packets that overtake others; nftables sets it as their priority.
inline constexpr const char* kFastClass = "1:20";

// Input for `tc -batch` in a place, initially; empty if no link is limited.
std::string place_queues(const Layout& layout, const Place& place, const Conditions& conditions);

// Changes the queue of a port from the state `before` to `now`.
std::string queue_change(const Port& port, const topology::LinkShape& shape,
                         const DirectionCondition& before, const DirectionCondition& now);

}  // namespace heddle::lab
