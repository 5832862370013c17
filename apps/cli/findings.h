// Findings of a doctor as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/json.h"
#include "base/finding.h"

namespace heddle::cli {

// A line each, with why and what to do under those that are not ok, and their counts.
std::string findings_text(const std::vector<Finding>& findings);
// The document of `--json`.
Json findings_document(const std::vector<Finding>& findings);

}  // namespace heddle::cli
