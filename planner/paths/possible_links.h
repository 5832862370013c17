// The links between switches that packets from one switch to another can take, whatever their
// ports.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/paths/fabric.h"

namespace heddle::planner {

struct SwitchPair {
  uint32_t from = 0;
  uint32_t to = 0;
};

// By LinkId: 1 where a route of a pair can take it, over links that work.
std::vector<uint8_t> possible_links(Fabric& fabric, std::span<const SwitchPair> pairs);

}  // namespace heddle::planner
