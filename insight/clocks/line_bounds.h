// Bounds of a line: the difference of two clocks over time is a line that lies above some points
// and below others; how high and how low can it be?
#pragma once

#include <array>
#include <vector>

namespace heddle::insight {

struct BoundPoint {
  double at = 0;
  double bound = 0;
};

// At two times, the earlier first. Infinite where nothing bounds it.
struct LineBounds {
  std::array<double, 2> low{};
  std::array<double, 2> high{};
};

// Of lines no steeper than `most_slope`. Of many points the strictest count as mistakes (events of
// a process that was not run for a while carry times that are too old) and are left out, more of
// them where no line fits between the points. Where none fits all the same, all are moved apart
// until one does, and once more as far: what is told then is as uncertain as that.
LineBounds bound_line(std::vector<BoundPoint> lows, std::vector<BoundPoint> highs,
                      std::array<double, 2> at, double most_slope);

}  // namespace heddle::insight
