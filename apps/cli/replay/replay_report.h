// Output of `heddle workload run`: the fields of `heddle sim` where they have the same meaning, so
// that both can be compared.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "apps/cli/replay/replay_plan.h"
#include "apps/cli/replay/replay_results.h"
#include "base/config.h"

namespace heddle::cli {

std::string replay_text(const ReplayOptions& options, const ReplayPlan& plan, const Config& config,
                        const ReplayResults& results);
nlohmann::json replay_document(const ReplayOptions& options, const ReplayPlan& plan,
                               const Config& config, const ReplayResults& results);
// Every flow arrived and every rank has done all.
bool all_done(const ReplayPlan& plan, const ReplayResults& results);

}  // namespace heddle::cli
