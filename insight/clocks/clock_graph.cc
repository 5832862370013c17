// See clock_graph.h. Difference constraints are shortest paths (Cormen et al., Introduction to
// Algorithms, 24.4).
#include "insight/clocks/clock_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace heddle::insight {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Step {
  uint32_t from = 0;
  uint32_t to = 0;
  double most = 0;  // upper bound of `to` minus `from`
};

// Returns nothing where the constraints contradict each other.
std::optional<std::vector<double>> shortest(uint32_t clocks, const std::vector<Step>& steps,
                                            double more) {
  std::vector<double> most(clocks, kInfinite);
  most[0] = 0;
  for (uint32_t round = 0; round <= clocks; ++round) {
    bool changed = false;
    for (const Step& step : steps) {
      const double by_this = most[step.from] + step.most + more;
      // Less than a nanosecond is a rounding error.
      if (!(by_this < most[step.to] - 0.5)) continue;
      most[step.to] = by_this;
      changed = true;
    }
    if (!changed) return most;
  }
  return std::nullopt;
}

std::vector<Step> steps_of(const ClockBounds& pairs, size_t when, bool towards_first) {
  std::vector<Step> steps;
  for (const auto& [pair, bounds] : pairs) {
    const Step there = {pair.first, pair.second, bounds.high.at(when)};
    const Step back = {pair.second, pair.first, -bounds.low.at(when)};
    for (Step step : {there, back}) {
      if (towards_first) std::swap(step.from, step.to);
      if (std::isfinite(step.most)) steps.push_back(step);
    }
  }
  return steps;
}

}  // namespace

std::vector<LineBounds> bounds_from_first(uint32_t clocks, const ClockBounds& pairs) {
  std::vector<LineBounds> found(clocks);
  for (size_t when = 0; when < 2; ++when) {
    const std::vector<Step> out = steps_of(pairs, when, false);
    const std::vector<Step> back = steps_of(pairs, when, true);
    auto most = shortest(clocks, out, 0);
    double more = 0;
    // Where pairs contradict each other, widen all bounds by the smallest power-of-two multiple of
    // 1000 ns that resolves it, then double the widening so that the error bound includes it.
    for (double tried = 1000; !most; tried *= 2) {
      if (shortest(clocks, out, tried)) most = shortest(clocks, out, more = 2 * tried);
    }
    const auto least = shortest(clocks, back, more);
    for (uint32_t i = 0; i < clocks; ++i) {
      found[i].high.at(when) = (*most)[i];
      found[i].low.at(when) = least ? -(*least)[i] : -kInfinite;
    }
  }
  return found;
}

}  // namespace heddle::insight
