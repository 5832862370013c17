// The page of a simulation: how long flows took, links over time, and which flows were slow and
// where, in one HTML file with all that it needs.
#pragma once

#include <string>

#include "apps/cli/sim/report.h"
#include "simulator/flow_run.h"
#include "simulator/series.h"

namespace heddle::cli {

// `series` has bins.
std::string sim_page(const simulator::FlowRun& run, const simulator::Series& series,
                     const SimFacts& facts);

}  // namespace heddle::cli
