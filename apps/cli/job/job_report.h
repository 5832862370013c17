// What is told of jobs, simulated or real: their steps, and their calls with bus bandwidths.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "apps/cli/job/job_outcome.h"
#include "insight/matrix.h"
#include "topology/job.h"

namespace heddle::cli {

// Jobs and what became of each. Empty without jobs.
std::string jobs_text(std::span<const topology::Job> jobs, std::span<const JobOutcome> outcomes);
// A job as an object; `matrix`: what its ranks delivered to each other, where it was counted.
nlohmann::json job_json(const topology::Job& job, const JobOutcome& outcome,
                        const std::optional<insight::Matrix>& matrix = std::nullopt);

// By which what a call moved in a time is made comparable with a link's rate, as nccl-tests has it;
// in bytes a second. Zero while it has not ended on all ranks.
double bus_bytes_per_s(const CallOutcome& call, uint32_t ranks);

}  // namespace heddle::cli
