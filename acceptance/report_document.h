// Report document: report.json of an earlier test, as `heddle verify diff` and `baseline` read it.
#pragma once

#include <string>

#include "acceptance/report.h"
#include "base/result.h"

namespace heddle::acceptance {

// The document of a report: a file, or the folder of --report. Errors: kUnavailable; kInvalid for
// another file.
Result<Json> read_report(const std::string& path);

// The data of a stage under this key; null: it has none. Throws Json::exception for a document that
// is no whole report.
const Json* stage_data(const Json& report, const std::string& stage, const char* key);

// For a document that is none.
Error no_report(const std::string& why);

}  // namespace heddle::acceptance
