// Report baseline: expectations from what earlier tests of a fabric reached.
#pragma once

#include <string>
#include <vector>

#include "acceptance/report.h"
#include "base/result.h"

namespace heddle::acceptance {

// Expectations that all these reports meet, with `margin` (0.1: a tenth) to the worst figure of
// each kind, as the text of a file for --expect. Errors: kInvalid for reports that have no figures
// or failed.
Result<std::string> baseline_of(const std::vector<Json>& reports, double margin);

}  // namespace heddle::acceptance
