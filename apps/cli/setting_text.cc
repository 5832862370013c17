// Setting text: see setting_text.h.
#include "apps/cli/setting_text.h"

#include <span>
#include <string_view>

#include "transport/names.h"

namespace heddle::cli {
namespace {

// The table that has a setting's values; empty for a setting without one.
std::span<const std::string_view> table_of(const ConfigKey& key) {
  if (key.name == "congestion") return transport::controller_names();
  if (key.name == "selector") return transport::selector_names();
  return {};
}

// "a, b or c"
std::string alternatives(std::span<const std::string_view> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace

std::vector<std::string> setting_values(const ConfigKey& key) {
  const auto table = table_of(key);
  std::vector<std::string> values(table.begin(), table.end());
  for (std::string_view left = key.choices; !left.empty();) {
    const size_t bar = left.find('|');
    values.emplace_back(left.substr(0, bar));
    left = bar == std::string_view::npos ? std::string_view() : left.substr(bar + 1);
  }
  return values;
}

std::string setting_doc(const ConfigKey& key) {
  const auto table = table_of(key);
  std::string doc(key.doc);
  return table.empty() ? doc : doc + ": " + alternatives(table);
}

}  // namespace heddle::cli
