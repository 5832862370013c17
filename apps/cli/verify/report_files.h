// Files of an acceptance test's report: the page, text, JSON, JUnit XML and CTRF.
#pragma once

#include <string>

#include "acceptance/report.h"
#include "base/result.h"

namespace heddle::cli {

// Makes the folder. Errors: kInvalid if there is a report already; kSystem.
Result<void> make_report_folder(const std::string& folder);

// Writes report.html, report.txt, report.json, junit.xml and ctrf.json. Errors: kSystem.
Result<void> write_report(const acceptance::Report& report, const std::string& folder);

}  // namespace heddle::cli
