// Link histories: readings of links' byte counters as bytes in equal intervals, and what is left of
// them without the loads that are planned. Input of forecasts (link_forecast.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "planner/paths/fabric.h"

namespace heddle::planner {

// A counter of one direction of a link, read once.
struct CounterReading {
  LinkId link = 0;
  Nanos at;  // since 1970
  uint64_t bytes = 0;
};

// Bytes of one direction of a link in each interval, the oldest first.
struct LinkHistory {
  LinkId link = 0;
  std::vector<double> bytes;
};

// All links have equally many intervals.
struct LinkHistories {
  Nanos begin;  // of the first interval, since 1970
  Nanos interval;
  std::vector<LinkHistory> links;  // by link
};

// Intervals are as long as the median between two readings of a link; at their ends a counter is
// interpolated. A counter that went back began anew, at zero. Links that were read once, or not
// within the time of the others, are left out; at most params::kMostIntervals are kept, the newest.
LinkHistories histories_of(std::vector<CounterReading> readings);

// Takes away what a job has planned, in bytes a second by LinkId, in intervals from `since` on.
// What is left is zero at least.
void subtract(LinkHistories& histories, const std::vector<double>& bytes_per_s, Nanos since);

}  // namespace heddle::planner
