// Statistics of single calls: see iteration_times.h.
#include "apps/cli/bench/iteration_times.h"

#include <algorithm>
#include <cmath>

namespace heddle::cli {
namespace {

// The smallest value that at least `percent` of all do not exceed.
double percentile(const std::vector<double>& sorted, size_t percent) {
  const size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::min(sorted.size(), std::max<size_t>(rank, 1)) - 1];
}

}  // namespace

std::vector<double> IterationTimes::slowest_us() const {
  std::vector<double> slowest;
  for (const std::vector<double>& rank : of_ranks_us) {
    slowest.resize(std::max(slowest.size(), rank.size()));
    for (size_t i = 0; i < rank.size(); ++i) slowest[i] = std::max(slowest[i], rank[i]);
  }
  return slowest;
}

IterationStatistics statistics_of(const IterationTimes& times) {
  std::vector<double> sorted = times.slowest_us();
  if (sorted.size() <= times.skipped) return {};
  sorted.erase(sorted.begin(), sorted.begin() + times.skipped);
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  IterationStatistics result;
  result.min_us = sorted.front();
  result.max_us = sorted.back();
  result.p50_us = sorted[sorted.size() / 2];
  result.p95_us = percentile(sorted, 95);
  result.p99_us = percentile(sorted, 99);
  for (const double us : sorted) result.avg_us += us / count;
  double variance = 0;
  for (const double us : sorted) variance += (us - result.avg_us) * (us - result.avg_us) / count;
  result.stdev_us = std::sqrt(variance);
  result.cv_pct = result.avg_us > 0 ? 100 * result.stdev_us / result.avg_us : 0;
  return result;
}

}  // namespace heddle::cli
