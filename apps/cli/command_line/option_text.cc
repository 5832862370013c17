// Option text: see option_text.h.
#include "apps/cli/command_line/option_text.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "apps/cli/command_line/line_cursor.h"
#include "apps/cli/command_line/params.h"
#include "apps/cli/command_line/value_checks.h"

namespace heddle::cli {
namespace {

bool is_argument(const CLI::Option& option) { return !option.nonpositional(); }

bool has_long_choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.size() > params::command_line::kLongestChoices && type.find('|') != std::string::npos;
}

std::string type_text(const CLI::Option& option) {
  if (!has_long_choices(option)) return option.get_type_name();
  if (!is_argument(option)) return option.get_delimiter() == ',' ? "NAME[,NAME]" : "NAME";
  std::string name = option.get_single_name();
  for (char& letter : name) {
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return name;
}

// ": a, b or c" of a type "a|b|c".
std::string choices_of(const CLI::Option& option) {
  std::vector<std::string> names;
  const std::string type = option.get_type_name();
  for (size_t from = 0; from <= type.size();) {
    const size_t end = std::min(type.find_first_of("|,", from), type.size());
    names.push_back(type.substr(from, end - from));
    from = end + 1;
  }
  return ": " + alternatives_text(names);
}

}  // namespace

std::string names_text(const CLI::Option& option) {
  if (is_argument(option)) return type_text(option);
  std::string text;
  for (const std::string& name : option.get_snames()) text += (text.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) text += (text.empty() ? "--" : ", --") + name;
  return text;
}

std::string short_name(const CLI::Option& option) {
  if (is_argument(option)) return type_text(option);
  return option.get_lnames().empty() ? "-" + option.get_snames().front()
                                     : "--" + option.get_lnames().front();
}

std::string value_text(const CLI::Option& option) {
  return is_argument(option) ? "" : type_text(option);
}

std::string usage_text(const CLI::Option& option) {
  const std::string value = value_text(option);
  if (value.empty()) return names_text(option);
  if (is_flag(option)) return names_text(option) + "[=" + value + "]";
  return names_text(option) + " " + value + (takes_several(option) ? "..." : "");
}

std::string doc_text(const CLI::Option& option) {
  std::string text = option.get_description();
  if (has_long_choices(option)) text += choices_of(option);
  const std::string value = option.get_default_str();
  return value.empty() ? text : text + " (default: " + value + ")";
}

bool is_shown(const CLI::Option& option) { return !option.get_group().empty(); }

bool takes_several(const CLI::Option& option) {
  return option.get_allow_extra_args() && option.get_items_expected_max() > 1;
}

}  // namespace heddle::cli
