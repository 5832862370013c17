// The plan's file that `heddle monitor --plan` keeps on each machine of a job, and which plans it
// takes.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::cli {

// What the agent writes when its machine has the plan.
inline constexpr const char* kPlanTaken = "taken\n";

// Whether every host of the plan can follow it. `file`: where the text is from. Errors: those of
// RoutePlan::parse(); kInvalid for a plan that is too large, or names a host without an address.
Result<void> check_plan(const std::string& text, const std::string& file);

// Replaces the file on this machine by a plan that this host can follow; another one leaves it as
// it is. Errors: those of RoutePlan::parse() and replace_text_file().
Result<void> take_plan(const std::string& text, const std::string& file);

}  // namespace heddle::cli
