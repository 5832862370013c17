// Reports of jobs, simulated or real: their steps, and their calls with bus bandwidths.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "insight/matrix.h"
#include "jobs/outcome.h"
#include "topology/job.h"

namespace heddle::cli {

// Jobs and what became of each. Empty without jobs.
std::string jobs_text(std::span<const topology::Job> jobs,
                      std::span<const jobs::JobOutcome> outcomes);
// A job as an object; `matrix`: what its ranks delivered to each other, where it was counted.
nlohmann::json job_json(const topology::Job& job, const jobs::JobOutcome& outcome,
                        const std::optional<insight::Matrix>& matrix = std::nullopt);

}  // namespace heddle::cli
