// Settings: see settings.h.
#include "apps/cli/settings.h"

#include <fmt/core.h>

#include "apps/cli/command_line/value_checks.h"
#include "apps/cli/command_line/value_types.h"
#include "apps/cli/setting_text.h"
#include "apps/cli/terminal.h"
#include "base/log.h"

namespace heddle::cli {
namespace {

constexpr const char* kSettingsGroup = "Settings";

}  // namespace

Settings::Settings(CLI::App& command) : command_(command) {
  command.add_option("--config", file_, "read settings from this file")
      ->type_name("FILE")
      ->group(kSettingsGroup);
  command.add_option("--set", assignments_, "set any setting; 'heddle help settings' lists them")
      ->type_name(kAssignmentType)
      ->allow_extra_args(false)
      ->group(kSettingsGroup);
}

void Settings::offer(const std::string& option, const std::string& key,
                     const std::string& type_name) {
  Offered& offered = offered_.emplace_back();
  offered.key = key;
  std::string help;
  std::string fallback;
  std::vector<std::string> values;
  CLI::Validator check;
  for (const ConfigKey& each : config_keys()) {
    if (each.name != key) continue;
    help = each.doc;
    values = setting_values(each);
    if (!values.empty()) check = one_of(values);
    if (each.type == ConfigType::kInteger) {
      check = whole_number(static_cast<uint64_t>(each.min), static_cast<uint64_t>(each.max));
    }
    fallback = each.fallback;
  }
  CHECK(!help.empty());
  offered.option = command_.add_option(option, offered.value, help)
                       ->type_name(values.empty() ? type_name : choices_text(values))
                       ->check(check)
                       ->default_str(fallback)
                       ->group(kSettingsGroup);
}

Result<Config> Settings::load() const {
  ConfigSources sources = ConfigSources::of_process();
  sources.file = file_;
  for (const std::string& assignment : assignments_) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorCode::kInvalid, fmt::format("cannot use '--set {}'", assignment),
                  "it has no '='", "write --set KEY=VALUE, like --set paths=16");
    }
    sources.command_line.emplace_back(assignment.substr(0, equals), assignment.substr(equals + 1));
  }
  for (const Offered& offered : offered_) {
    if (offered.option->count() > 0) sources.command_line.emplace_back(offered.key, offered.value);
  }
  Result<Config> config = Config::load(config_keys(), sources);
  if (!config) return config;
  set_log_level(parse_log_level(config->text("log")).value_or(LogLevel::kWarn));
  for (const std::string& warning : config->warnings()) print_warning(warning);
  return config;
}

}  // namespace heddle::cli
