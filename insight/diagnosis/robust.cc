// See robust.h.
#include "insight/diagnosis/robust.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "insight/diagnosis/params.h"

namespace heddle::insight {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  if (share == 0.5) return median(std::move(values));
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

double spread(const std::vector<double>& values, double middle) {
  std::vector<double> deviations(values.size());
  std::transform(values.begin(), values.end(), deviations.begin(),
                 [middle](double value) { return std::abs(value - middle); });
  return params::kDeviationOfMad * median(std::move(deviations));
}

// The maximum-sum stretch (Kadane's scan) of clipped surpluses.
Episode highest_episode(const std::vector<double>& values, double threshold) {
  Episode best;
  double best_sum = 0;
  double sum = 0;
  size_t begin = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (sum <= 0) {
      sum = 0;
      begin = i;
    }
    sum += std::clamp(values[i] - threshold, -threshold, threshold);
    if (sum > best_sum) {
      best_sum = sum;
      best = {begin, i + 1};
    }
  }
  return best;
}

std::vector<double> values_in(const std::vector<double>& values, const Episode& episode) {
  return {values.begin() + static_cast<std::ptrdiff_t>(episode.begin),
          values.begin() + static_cast<std::ptrdiff_t>(episode.end)};
}

// Medians of kRiseParts parts: they rise by much in all, and no step between two has most of the
// rise.
bool rises_gradually(const std::vector<double>& values) {
  constexpr size_t kParts = params::kRiseParts;
  if (values.size() < 2 * kParts) return false;
  std::array<double, kParts> levels{};
  for (size_t i = 0; i < kParts; ++i) {
    levels[i] =
        median({values.begin() + static_cast<std::ptrdiff_t>(values.size() * i / kParts),
                values.begin() + static_cast<std::ptrdiff_t>(values.size() * (i + 1) / kParts)});
  }
  const double rise = levels.back() - levels.front();
  if (rise < params::kLeastRise * levels.back()) return false;
  double largest = 0;
  size_t rising = 0;
  for (size_t i = 1; i < kParts; ++i) {
    largest = std::max(largest, levels[i] - levels[i - 1]);
    if (levels[i] > levels[i - 1]) ++rising;
  }
  return largest < rise / 2 && rising >= kParts - 3;
}

bool rises_gradually(const std::vector<double>& values, const Episode& episode) {
  if (rises_gradually(values_in(values, episode))) return true;
  const size_t before = std::min(episode.begin, episode.length() / 2);
  return rises_gradually(values_in(values, {episode.begin - before, episode.end}));
}

}  // namespace heddle::insight
