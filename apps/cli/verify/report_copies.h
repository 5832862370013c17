// --language and --pdf of `heddle verify` and `heddle verify report`: pages in other languages, and
// printed ones, beside report.html.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "acceptance/report.h"
#include "apps/cli/json.h"
#include "apps/cli/verify/report_files.h"
#include "apps/cli/verify/verify_options.h"
#include "base/result.h"

namespace heddle::cli {

// The page of acceptance::json_of() and, if asked for, its PDF, by name. Errors: as pdf_of().
Result<NamedTexts> report_copies(const Json& document, const std::string& language, bool pdf);

// Before the test. Errors: kInvalid without a report; kUnavailable for a PDF without a browser.
Result<void> check_copies(const VerifyOptions& options);

// After the test, what was asked for, and prints the names. An interrupted test has no PDF.
// Errors: as pdf_of() and ReportFolder::replace(), with how to write it later.
Result<void> write_copies(const VerifyOptions& options, const ReportFolder& folder,
                          const acceptance::Report& report);

// Both options of `heddle verify`.
void add_copy_options(CLI::App& command, VerifyOptions& options);

}  // namespace heddle::cli
