// Link groups: the links among which a switch has a choice, to see how evenly it chose.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/network.h"

namespace heddle::simulator {

struct LinkGroup {
  uint32_t switch_index = 0;
  std::vector<LinkId> links;  // at least two, ascending
};

// Each group once, by switch and then by its links.
std::vector<LinkGroup> link_groups(const Network& network);

}  // namespace heddle::simulator
