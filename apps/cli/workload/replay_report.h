// Output of `heddle workload run`: the fields of `heddle sim` where they have the same meaning, so
// that both can be compared.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/config.h"
#include "jobs/replay_plan.h"
#include "jobs/replay_results.h"

namespace heddle::cli {

std::string replay_text(const jobs::ReplayOptions& options, const jobs::ReplayPlan& plan,
                        const Config& config, const jobs::ReplayResults& results);
nlohmann::json replay_document(const jobs::ReplayOptions& options, const jobs::ReplayPlan& plan,
                               const Config& config, const jobs::ReplayResults& results);

}  // namespace heddle::cli
