// Clock graph: combines the bounds between pairs of clocks into bounds relative to clock 0.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "insight/clocks/line_bounds.h"

namespace heddle::insight {

// By pair of clock numbers: bounds of the offset between the two clocks, at the two times.
using ClockBounds = std::map<std::pair<uint32_t, uint32_t>, LineBounds>;

// Bounds of each clock relative to clock 0, over all routes through the graph. Infinite for a clock
// that no route reaches.
std::vector<LineBounds> bounds_from_first(uint32_t clocks, const ClockBounds& pairs);

}  // namespace heddle::insight
