// Robust statistics of the diagnosis: medians, spreads, episodes and trends. Pure functions.
#pragma once

#include <cstddef>
#include <vector>

namespace heddle::insight {

// 0 of none.
double median(std::vector<double> values);
// The value below which this share of them lies; 0 of none.
double quantile(std::vector<double> values, double share);
// Standard deviation as the median absolute deviation gives it.
double spread(const std::vector<double>& values, double middle);

// Blocks [begin, end) in which values are high.
struct Episode {
  size_t begin = 0;
  size_t end = 0;
  size_t length() const { return end - begin; }
};

// The stretch of values that exceeds `threshold` most, each value counted by at most `threshold`
// above or below it, so that single ones decide nothing. Empty if none does.
Episode highest_episode(const std::vector<double>& values, double threshold);

// The values of an episode.
std::vector<double> values_in(const std::vector<double>& values, const Episode& episode);

// Whether the values rise bit by bit from beginning to end, rather than in one step.
bool rises_gradually(const std::vector<double>& values);
// The same of an episode of them, or of it and the blocks before it, half as many: an episode
// begins at its threshold, which what grows reaches later than it begins to.
bool rises_gradually(const std::vector<double>& values, const Episode& episode);

}  // namespace heddle::insight
