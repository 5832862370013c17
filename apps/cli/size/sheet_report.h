// A sheet as text, as a JSON document, and as a page.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/json.h"
#include "apps/cli/size/sheet.h"

namespace heddle::cli {

std::string sheet_text(const Sheet& sheet);
Json sheet_json(const Sheet& sheet);

// "en" and those of pages/sheet_words/.
std::vector<std::string> sheet_languages();
// HTML of sheet_json(); `language` is one of sheet_languages().
std::string sheet_page(const Json& document, const std::string& language);

}  // namespace heddle::cli
