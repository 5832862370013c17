// PDF of a page, printed by a headless Chromium where one is installed.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace heddle::cli {

// Errors: kUnavailable without a browser on PATH.
Result<void> check_browser();

// The bytes of the PDF of an HTML text. Errors: kUnavailable without a browser on PATH; kSystem
// where it fails, takes more than a minute, or `interrupted` ends it.
Result<std::string> pdf_of(const std::string& html, const std::function<bool()>& interrupted);

}  // namespace heddle::cli
