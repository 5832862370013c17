// Documents: a report as text for a terminal, as JSON, as JUnit XML and as CTRF.
#pragma once

#include <string>

#include "acceptance/report.h"

namespace heddle::acceptance {

// "pass", "warn", "fail".
const char* word_of(Grade grade);
// The same of a row's grade, or "info" of one that is shown for information.
const char* word_of(const Row& row);
// "PASS", "WARN", "FAIL", or "INCOMPLETE" for a test without a failure that has not ended.
std::string verdict_of(const Report& report);
// A line that says what the verdict is of.
std::string summary_of(const Report& report);

std::string text_of(const Report& report);
// docs/reference/json.md has its fields.
Json json_of(const Report& report);
// A test suite a stage, a test case a row; warnings are passed cases with a text.
std::string junit_of(const Report& report);
// The same as a Common Test Report Format document (ctrf.io).
Json ctrf_of(const Report& report);

}  // namespace heddle::acceptance
