// Link groups: sets of equal-cost links at a switch, to measure how evenly traffic is distributed.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/network.h"

namespace heddle::simulator {

struct LinkGroup {
  uint32_t switch_index = 0;
  std::vector<LinkId> links;  // at least two, ascending
};

// Each group once, ordered by switch and then by links.
std::vector<LinkGroup> link_groups(const Network& network);

}  // namespace heddle::simulator
