// IterationTimes: how long each call of a measurement took on each rank, and its statistics as
// nccl-tests defines them (option -I): percentiles by nearest rank, deviation of the population.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle::cli {

struct IterationTimes {
  std::vector<std::vector<double>> of_ranks_us;  // a row a rank, all of one length
  uint32_t skipped = 0;  // first calls that statistics leave out; fewer than calls

  // Of each call the time of the slowest rank.
  std::vector<double> slowest_us() const;
};

struct IterationStatistics {
  double min_us = 0;
  double max_us = 0;
  double avg_us = 0;
  double p50_us = 0;
  double p95_us = 0;
  double p99_us = 0;
  double stdev_us = 0;
  double cv_pct = 0;  // deviation by mean
};

// Of the slowest ranks' times, without the skipped ones. Zeros where there are none.
IterationStatistics statistics_of(const IterationTimes& times);

}  // namespace heddle::cli
