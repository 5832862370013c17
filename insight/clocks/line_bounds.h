// Line bounds: the difference of two clocks over time is a line that lies above some points and
// below others. Computes the range of its values at two times.
#pragma once

#include <array>
#include <vector>

namespace heddle::insight {

struct BoundPoint {
  double at = 0;
  double bound = 0;
};

// The range at two times, the earlier first. Infinite where no point bounds it.
struct LineBounds {
  std::array<double, 2> low{};
  std::array<double, 2> high{};
};

// Considers lines no steeper than `most_slope`. The strictest of many points count as outliers and
// are left out, because events of a process that was descheduled carry times that are too old; more
// of them are left out where no line fits between the points. Where still no line fits, all points
// are moved apart until one does, and then again by the same distance, so that the returned range
// includes that uncertainty.
LineBounds bound_line(std::vector<BoundPoint> lows, std::vector<BoundPoint> highs,
                      std::array<double, 2> at, double most_slope);

}  // namespace heddle::insight
