// Clocks that bound each other pair by pair, put together: how far each can be from the first.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "insight/clocks/line_bounds.h"

namespace heddle::insight {

// What brings one clock's times to another's, of two clocks by number, is so at the two times.
using ClockBounds = std::map<std::pair<uint32_t, uint32_t>, LineBounds>;

// Of each clock against number 0, by all ways that lead there. Infinite where none does.
std::vector<LineBounds> bounds_from_first(uint32_t clocks, const ClockBounds& pairs);

}  // namespace heddle::insight
