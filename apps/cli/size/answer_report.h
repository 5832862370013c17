// Answers of the planner as text and as JSON.
#pragma once

#include <string>

#include "apps/cli/json.h"
#include "base/result.h"
#include "planner/answer.h"

namespace heddle::cli {

// "1,234 B", "400 Gb/s", "1.50 ms".
std::string figure_value_text(double value, const std::string& unit);

std::string answer_text(const planner::Answer& answer);
// The document of `--json`.
Json answer_document(const planner::Answer& answer);

// Prints the answer or the error; the exit status.
int print_answer(const Result<planner::Answer>& answer, bool json);

}  // namespace heddle::cli
