// The fabric in the output of `heddle sim`: the busiest links and longest queues, how evenly
// switches used equal-cost links and connections their paths, and time series.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "simulator/flow_run.h"
#include "simulator/series.h"

namespace heddle::cli {

// A few lines of charts, after an empty one; nothing where no time passed.
std::string links_text(const simulator::FlowRun& run, const simulator::Series& series);

// "links", "routes" and "paths_used" of the document: the whole run.
nlohmann::json links_json(const simulator::FlowRun& run, const simulator::Series& series);
nlohmann::json routes_json(const simulator::FlowRun& run, const simulator::Series& series);
nlohmann::json paths_json(const simulator::FlowRun& run);
// "series": bins of the `most_links` busiest links.
nlohmann::json series_json(const simulator::FlowRun& run, const simulator::Series& series,
                           size_t most_links);

}  // namespace heddle::cli
