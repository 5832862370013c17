// Page of an acceptance test's report in one of the languages that have a catalogue of words.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/json.h"

namespace heddle::cli {

// "en" and those of pages/words/.
std::vector<std::string> report_languages();

// HTML of acceptance::json_of(); `language` is one of report_languages().
std::string report_page(const Json& document, const std::string& language);

// "report.html" in English, "report.ja.html" in Japanese.
std::string report_page_name(const std::string& language);

}  // namespace heddle::cli
