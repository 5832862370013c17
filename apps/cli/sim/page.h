// The page of a simulation: how long flows and steps of jobs took, links over time, and which flows
// were slow and where, in one HTML file with all that it needs.
#pragma once

#include <string>

#include "apps/cli/sim/report.h"
#include "jobs/simulated_jobs.h"
#include "simulator/flow_run.h"
#include "simulator/series.h"

namespace heddle::cli {

// `series` has bins.
std::string sim_page(const simulator::FlowRun& run, const jobs::SimulatedJobs& jobs,
                     const simulator::Series& series, const SimFacts& facts);

}  // namespace heddle::cli
