// SettingsPage: see settings_page.h.
#include "apps/cli/command_line/settings_page.h"

#include <fmt/format.h>

#include "apps/cli/command_line/page_man.h"
#include "apps/cli/command_line/page_markdown.h"
#include "apps/cli/command_line/page_text.h"
#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/setting_text.h"

namespace heddle::cli {
namespace {

constexpr const char* kWhere =
    "A setting comes from the command line (an option of its own, or --set KEY=VALUE), else from "
    "its "
    "environment variable, else from the configuration file, else it has its default. The file is "
    "the "
    "one that --config or HEDDLE_CONFIG names, else ~/.config/heddle/heddle.toml, else "
    "/etc/heddle/heddle.toml; it is TOML with the setting's name as key. `heddle config show` "
    "prints "
    "the settings in force and where each comes from.";

std::string default_of(const ConfigKey& key) {
  return key.fallback.empty() ? "none" : std::string(key.fallback);
}

}  // namespace

std::string setting_range(const ConfigKey& key) {
  if (key.type == ConfigType::kBoolean) return "true or false";
  if (const auto values = setting_values(key); !values.empty()) return alternatives_text(values);
  if (key.type == ConfigType::kText) return "any text";
  std::string unit(key.unit);
  if (unit == "mbits_per_s") unit = "Mbit/s";
  if (unit == "mebibytes") unit = "MiB";
  return fmt::format("{}{} to {}{}{}", key.or_zero && key.min > 0 ? "0 or " : "", key.min, key.max,
                     unit.empty() ? "" : " ", unit);
}

std::string settings_text() {
  std::string text = wrapped(kWhere, 0) + "\n\n";
  for (const ConfigKey& key : config_keys()) {
    text += fmt::format("{}  ({})\n  {}\n  default: {}; {}\n\n", key.name,
                        config_variable(key.name), wrapped(std::string(key.doc), 2),
                        default_of(key), wrapped(setting_range(key), 2));
  }
  text.pop_back();
  return text;
}

std::string settings_markdown() {
  std::string text = fmt::format(
      "# Settings\n\nMade from the program by `heddle help settings --format markdown`; a test "
      "fails "
      "where they\ndiffer.\n\n{}\n\n",
      wrapped(markdown_escaped(kWhere), 0, 110));
  text += "| key in the file | variable | default | range | |\n|---|---|---|---|---|\n";
  for (const ConfigKey& key : config_keys()) {
    text += fmt::format("| `{}` | `{}` | {} | {} | {} |\n", key.name, config_variable(key.name),
                        key.fallback.empty() ? "" : fmt::format("`{}`", key.fallback),
                        setting_range(key), markdown_escaped(std::string(key.doc)));
  }
  return text;
}

std::string settings_man() {
  Page page{.words = "settings", .summary = "settings of heddle and where they come from"};
  page.paragraphs.emplace_back(kWhere);
  PageSection section{"Settings", {}};
  for (const ConfigKey& key : config_keys()) {
    section.rows.push_back(
        {fmt::format("{} ({})", key.name, config_variable(key.name)),
         fmt::format("{}. Default: {}; {}.", key.doc, default_of(key), setting_range(key))});
  }
  page.options.push_back(std::move(section));
  return page_man(page, 7);
}

}  // namespace heddle::cli
