// See line_bounds.h. For a given slope, the lowest line above `lows` is a convex function of the
// slope and the highest line below `highs` a concave one, so an interval search finds the optimum.
#include "insight/clocks/line_bounds.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "insight/params.h"

namespace heddle::insight {
namespace {

using namespace params::clocks;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double turn(const BoundPoint& a, const BoundPoint& b, const BoundPoint& c) {
  return (b.at - a.at) * (c.bound - a.bound) - (b.bound - a.bound) * (c.at - a.at);
}

// The lower hull of points sorted by time: only these can touch a line that passes below all
// points.
std::vector<size_t> lower_hull(const std::vector<BoundPoint>& points) {
  std::vector<size_t> hull;
  for (size_t i = 0; i < points.size(); ++i) {
    while (hull.size() >= 2 &&
           turn(points[hull[hull.size() - 2]], points[hull.back()], points[i]) <= 0) {
      hull.pop_back();
    }
    hull.push_back(i);
  }
  return hull;
}

// The points of one side, and the hull of those that constrain the line.
class Side {
 public:
  explicit Side(std::vector<BoundPoint> points) : points_(std::move(points)) {
    std::sort(points_.begin(), points_.end(), [](const BoundPoint& a, const BoundPoint& b) {
      return a.at < b.at || (a.at == b.at && a.bound < b.bound);
    });
    const auto same = [](const BoundPoint& a, const BoundPoint& b) { return a.at == b.at; };
    points_.erase(std::unique(points_.begin(), points_.end(), same), points_.end());
    hull_ = points_of(lower_hull(points_));
  }

  // Removes the points that constrain the line now. Returns false where too few would be left.
  bool peel() {
    if (points_.size() < kLeastToPeel) return false;
    const std::vector<size_t> outer = lower_hull(points_);
    std::vector<BoundPoint> inner;
    size_t next = 0;
    for (size_t i = 0; i < points_.size(); ++i) {
      if (next < outer.size() && outer[next] == i) {
        ++next;
      } else {
        inner.push_back(points_[i]);
      }
    }
    points_ = std::move(inner);
    hull_ = points_of(lower_hull(points_));
    return true;
  }
  void move_apart(double by) {
    for (BoundPoint& point : hull_) point.bound += by;
  }

  bool empty() const { return hull_.empty(); }
  // The value at time `at` of the line with this slope that touches the points from below.
  double touching(double slope, double at) const {
    double least = kInfinite;
    for (const BoundPoint& point : hull_) {
      least = std::min(least, point.bound - slope * (point.at - at));
    }
    return least;
  }

 private:
  std::vector<BoundPoint> points_of(const std::vector<size_t>& indices) const {
    std::vector<BoundPoint> some;
    for (const size_t index : indices) some.push_back(points_[index]);
    return some;
  }

  std::vector<BoundPoint> points_;
  std::vector<BoundPoint> hull_;
};

void negate(std::vector<BoundPoint>& points) {
  for (BoundPoint& point : points) point.bound = -point.bound;
}

// `lows` are negated, so both sides are upper bounds.
struct Points {
  Side lows;
  Side highs;
  double room(double slope) const { return highs.touching(slope, 0) + lows.touching(-slope, 0); }
};

// Returns the argument at which a concave function is largest.
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

// Returns the slope closest to `outside` that leaves room between the points, found by bisection.
double last_with_room(const Points& points, double inside, double outside) {
  if (points.room(outside) >= 0) return outside;
  for (int i = 0; i < kSteps; ++i) {
    const double middle = (inside + outside) / 2;
    (points.room(middle) >= 0 ? inside : outside) = middle;
  }
  return inside;
}

// Returns the slope with the most room. Where there is none, removes outliers, then moves the
// points apart.
double make_room(Points& points, double most_slope) {
  const auto room = [&points](double slope) { return points.room(slope); };
  double best = largest_at(-most_slope, most_slope, room);
  for (int i = 0; i < kMostPeeled && room(best) < 0; ++i) {
    const bool lows = points.lows.peel();
    const bool highs = points.highs.peel();
    if (!lows && !highs) break;
    best = largest_at(-most_slope, most_slope, room);
  }
  const double missing = -room(best);
  if (missing > 0) {
    points.lows.move_apart(missing);
    points.highs.move_apart(missing);
  }
  return best;
}

}  // namespace

LineBounds bound_line(std::vector<BoundPoint> lows, std::vector<BoundPoint> highs,
                      std::array<double, 2> at, double most_slope) {
  negate(lows);
  Points points = {Side(std::move(lows)), Side(std::move(highs))};
  for (int i = 0; i < kAlwaysPeeled; ++i) {
    points.lows.peel();
    points.highs.peel();
  }
  double least = -most_slope;
  double most = most_slope;
  if (!points.lows.empty() && !points.highs.empty()) {
    const double best = make_room(points, most_slope);
    least = last_with_room(points, best, least);
    most = last_with_room(points, best, most);
  }
  LineBounds bounds;
  for (size_t i = 0; i < 2; ++i) {
    const auto high = [&](double slope) { return points.highs.touching(slope, at.at(i)); };
    const auto low = [&](double slope) { return points.lows.touching(-slope, at.at(i)); };
    bounds.high.at(i) = points.highs.empty() ? kInfinite : high(largest_at(least, most, high));
    bounds.low.at(i) = points.lows.empty() ? -kInfinite : -low(largest_at(least, most, low));
  }
  return bounds;
}

}  // namespace heddle::insight
