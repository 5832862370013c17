// What `heddle sim` tells of jobs: their steps, and their calls with bus bandwidths.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/cli/sim/job_run.h"

namespace heddle::cli {

// Empty without jobs.
std::string jobs_text(const JobRun& run);
// A list; a job an object.
nlohmann::json jobs_json(const JobRun& run);

// By which what a call moved in a time is made comparable with a link's rate, as nccl-tests has it;
// in bytes a second. Zero while it has not ended on all ranks.
double bus_bytes_per_s(const CallOutcome& call, uint32_t ranks);

}  // namespace heddle::cli
