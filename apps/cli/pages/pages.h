// Pages that commands write: HTML with all that it needs, into which the data goes.
#pragma once

#include <string>

#include "apps/cli/json.h"

namespace heddle::cli {

// Made from the .html beside this file when heddle is built.
extern const char* const kMatrixPage;
extern const char* const kTimelinePage;
extern const char* const kSimPage;
extern const char* const kVerifyPage;
extern const char* const kSizePage;
extern const char* const kSheetPage;
extern const char* const kMonitorPage;
extern const char* const kOverviewPage;
// Catalogues of words, JSON: pages/words/ of the page of `heddle verify`, pages/sheet_words/ of
// that of `heddle size report`.
extern const char* const kWords_ja;       // NOLINT: named after the language's code
extern const char* const kSheetWords_ja;  // NOLINT

// The page with `data` where it says "@DATA@" and `title` where it says "@TITLE@".
std::string fill_page(const char* page, const std::string& title, const Json& data);
// Text that stands for itself in HTML and SVG.
std::string html_text(const std::string& text);

}  // namespace heddle::cli
