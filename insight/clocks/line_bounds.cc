// See line_bounds.h. For a slope, the lowest line above `lows` is a convex function of it and the
// highest below `highs` a concave one, so what is sought is found by halving.
#include "insight/clocks/line_bounds.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace heddle::insight {
namespace {

constexpr int kSteps = 60;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

double turn(const BoundPoint& a, const BoundPoint& b, const BoundPoint& c) {
  return (b.at - a.at) * (c.bound - a.bound) - (b.bound - a.bound) * (c.at - a.at);
}

// Of points that bound from above those that no line between others hides: the lower hull.
void keep_lower_hull(std::vector<BoundPoint>& points) {
  std::sort(points.begin(), points.end(), [](const BoundPoint& a, const BoundPoint& b) {
    return a.at < b.at || (a.at == b.at && a.bound < b.bound);
  });
  size_t kept = 0;
  for (const BoundPoint& point : points) {
    if (kept > 0 && points[kept - 1].at == point.at) continue;
    while (kept >= 2 && turn(points[kept - 2], points[kept - 1], point) <= 0) --kept;
    points[kept++] = point;
  }
  points.resize(kept);
}

void negate(std::vector<BoundPoint>& points) {
  for (BoundPoint& point : points) point.bound = -point.bound;
}

// Where the line of that slope that touches the points from below is at a time.
double touching(const std::vector<BoundPoint>& highs, double slope, double at) {
  double least = kInfinite;
  for (const BoundPoint& point : highs) {
    least = std::min(least, point.bound - slope * (point.at - at));
  }
  return least;
}

// `lows` are negated, so that both are bounds from above.
struct Points {
  std::vector<BoundPoint> lows;
  std::vector<BoundPoint> highs;
  double room(double slope) const { return touching(highs, slope, 0) + touching(lows, -slope, 0); }
};

// Where a concave function is largest.
template <typename Function>
double largest_at(double low, double high, const Function& function) {
  for (int i = 0; i < kSteps; ++i) {
    const double third = (high - low) / 3;
    if (function(low + third) < function(high - third)) {
      low += third;
    } else {
      high -= third;
    }
  }
  return (low + high) / 2;
}

// The last slope from `inside` towards `outside` that has room.
double last_with_room(const Points& points, double inside, double outside) {
  if (points.room(outside) >= 0) return outside;
  for (int i = 0; i < kSteps; ++i) {
    const double middle = (inside + outside) / 2;
    (points.room(middle) >= 0 ? inside : outside) = middle;
  }
  return inside;
}

void move_apart(Points& points, double by) {
  for (BoundPoint& point : points.lows) point.bound += by;
  for (BoundPoint& point : points.highs) point.bound += by;
}

}  // namespace

LineBounds bound_line(std::vector<BoundPoint> lows, std::vector<BoundPoint> highs,
                      std::array<double, 2> at, double most_slope) {
  negate(lows);
  Points points = {std::move(lows), std::move(highs)};
  keep_lower_hull(points.lows);
  keep_lower_hull(points.highs);
  double least = -most_slope;
  double most = most_slope;
  if (!points.lows.empty() && !points.highs.empty()) {
    const auto room = [&points](double slope) { return points.room(slope); };
    const double best = largest_at(least, most, room);
    if (room(best) < 0) move_apart(points, -room(best));
    least = last_with_room(points, best, least);
    most = last_with_room(points, best, most);
  }
  LineBounds bounds;
  for (size_t i = 0; i < 2; ++i) {
    const auto high = [&](double slope) { return touching(points.highs, slope, at.at(i)); };
    const auto low = [&](double slope) { return touching(points.lows, -slope, at.at(i)); };
    bounds.high.at(i) = points.highs.empty() ? kInfinite : high(largest_at(least, most, high));
    bounds.low.at(i) = points.lows.empty() ? -kInfinite : -low(largest_at(least, most, low));
  }
  return bounds;
}

}  // namespace heddle::insight
