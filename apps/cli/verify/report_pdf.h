// PDF of a report's page, printed by a headless Chromium where one is installed.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::cli {

// The bytes of the PDF of an HTML file. Errors: kUnavailable without a browser on PATH; kSystem
// where it fails or takes more than a minute.
Result<std::string> pdf_of(const std::string& page);

}  // namespace heddle::cli
