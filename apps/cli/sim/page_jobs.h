// What the page of a simulation says of its jobs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "jobs/simulated_jobs.h"

namespace heddle::cli {

// Rows of jobs with their steps and calls, in nanoseconds.
nlohmann::json page_jobs(const jobs::SimulatedJobs& run);
// A value, what it is, and whether it is bad news, of all jobs; nothing where there are none.
nlohmann::json job_tiles(const jobs::SimulatedJobs& run);

}  // namespace heddle::cli
