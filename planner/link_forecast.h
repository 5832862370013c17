// Forecast of loads that take no part in planning, from what links carried in the past: each link's
// mean over the next intervals, by the method that was best in the past, and how far off it was
// there. `heddle plan --background` gives the planner as much of it as its error allows.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/nanos.h"
#include "planner/link_history.h"

namespace heddle::planner {

enum class ForecastMethod : uint8_t {
  kTooShort,  // no forecast: there are too few intervals
  kSmoothed,  // exponentially weighted mean
  kPeriodic,  // of the same phase of earlier periods
};
std::string_view name_of(ForecastMethod method);

struct LoadForecast {
  ForecastMethod method = ForecastMethod::kTooShort;
  std::vector<double> bytes_per_s;  // by LinkId, without `used`; links without a history have 0
  size_t links = 0;                 // with a history
  size_t intervals = 0;             // of each
  size_t period = 0;                // intervals; 0: none was found
  // In a backtest on the later half: the sum of the differences between forecast and truth, over
  // the sum of the truth. 1: no better than to forecast nothing.
  double error = 1;
  double used = 0;  // share of the forecast that counts: 1 - error, at least 0

  // What the planner gets for a plan of bytes that are sent within `of_plan`: bytes by LinkId.
  std::vector<double> background(Nanos of_plan) const;
};

// `links`: directions of the topology's links. Pure.
LoadForecast forecast_loads(const LinkHistories& histories, uint32_t links);

// Whether transports that spray, and look for free paths as they send, are likely to be as fast as
// a plan beside these loads: they are `share` of the capacity (share_of_capacity()).
bool spraying_suits(const LoadForecast& forecast, double share);

// Counts what all links carried as one series: the lag at which it resembles itself most, where the
// autocorrelation has a peak above params::kPeriodic and three periods are there; 0: none.
size_t period_of(const std::vector<double>& series);

}  // namespace heddle::planner
