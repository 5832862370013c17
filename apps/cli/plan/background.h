// Background: loads of links that no plan or lease knows, forecast from counters in a CSV file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "leases/store.h"
#include "planner/link_forecast.h"
#include "planner/path_plan.h"
#include "topology/topology.h"

namespace heddle::cli {

struct BackgroundSource {
  std::string file;  // empty: none
  Nanos period;      // in which the planned bytes are sent; zero: as fast as links allow
};

// Of a plan: what was forecast, and the bytes that count.
struct Background {
  planner::LoadForecast forecast;
  double share = 0;  // of the capacity of links between switches that have counters, as forecast
  Nanos interval;
  Nanos period;               // of the plan
  std::vector<double> bytes;  // by LinkId, as planner::Demand::background
  std::vector<std::string> notes;
};

// Readings of counters: columns `time` (seconds since 1970), `link` ("leaf0 -> spine1": sent by
// leaf0; or "leaf0:spine1") and `bytes` (since the counter began). What live leases have planned is
// taken away. Errors: kUnavailable; kInvalid with the line; those of plan_paths().
Result<Background> read_background(const BackgroundSource& source,
                                   const topology::Topology& topology,
                                   const planner::Demand& demand,
                                   const planner::PathPlanOptions& options,
                                   const std::vector<leases::StoredLease>& leases);

std::string background_text(const Background& background);
nlohmann::json background_json(const Background& background);

}  // namespace heddle::cli
