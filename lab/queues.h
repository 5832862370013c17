// Queues: the queueing disciplines behind a port, as batches for tc. A limited link is a token
// bucket before a queue of so many bytes; one that reorders has a second queue, which goes first:
// what is put there overtakes everything that waits in the other.
#pragma once

#include <string>

#include "lab/conditions.h"
#include "lab/layout.h"

namespace heddle::lab {

// The class of packets that overtake others: what nftables sets as their priority.
inline constexpr const char* kFastClass = "1:20";

// For `tc -batch` in a place, at the beginning; empty where nothing is limited.
std::string place_queues(const Layout& layout, const Place& place, const Conditions& conditions);

// Makes the queue of a port as `now` wants it; it is as `before` wants it.
std::string queue_change(const Port& port, const topology::LinkShape& shape,
                         const DirectionCondition& before, const DirectionCondition& now);

}  // namespace heddle::lab
