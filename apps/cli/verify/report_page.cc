// See report_page.h. The page's script has the English templates and matches texts with them.
#include "apps/cli/verify/report_page.h"

#include <string_view>
#include <utility>

#include "apps/cli/pages/pages.h"

namespace heddle::cli {
namespace {

const std::vector<std::pair<std::string, const char*>>& catalogues() {
  static const std::vector<std::pair<std::string, const char*>> all = {{"en", ""},
                                                                       {"ja", kWords_ja}};
  return all;
}

void put(std::string& page, std::string_view mark, const std::string& text) {
  const size_t at = page.find(mark);
  if (at != std::string::npos) page.replace(at, mark.size(), text);
}

}  // namespace

std::vector<std::string> report_languages() {
  std::vector<std::string> names;
  for (const auto& [name, words] : catalogues()) names.push_back(name);
  return names;
}

std::string report_page(const Json& document, const std::string& language) {
  std::string page = kVerifyPage;
  for (const auto& [name, words] : catalogues()) {
    if (name != language) continue;
    put(page, "@LANGUAGE@", name);
    put(page, "@WORDS@", words);
  }
  return fill_page(page.c_str(), "Acceptance test of " + document.value("fabric", ""), document);
}

std::string report_page_name(const std::string& language) {
  return language == "en" ? "report.html" : "report." + language + ".html";
}

}  // namespace heddle::cli
