// What a report's page calculates with, as JSON for its script (pages/size_formulas.js).
#pragma once

#include "apps/cli/json.h"
#include "planner/what_if.h"

namespace heddle::cli {

// `question` is what `what_if` was made from.
Json what_if_document(const planner::WhatIf& what_if, const planner::ClusterQuestion& question);

}  // namespace heddle::cli
