// `heddle config show`: see config_command.h.
#include "apps/cli/config_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/command_line/exit_statuses.h"
#include "apps/cli/command_line/shared_options.h"
#include "apps/cli/setting_text.h"
#include "apps/cli/settings.h"
#include "apps/cli/terminal.h"
#include "engine/configured.h"

namespace heddle::cli {
namespace {

constexpr const char* kExample = R"(Example:
  heddle config show
  HEDDLE_PATHS=16 heddle config show --set congestion=swift

The command line overrides HEDDLE_* variables, these override the file, the file the defaults.)";

std::string as_table(const Config& config) {
  size_t name_width = 0;
  size_t value_width = 0;
  for (const ConfigEntry& entry : config.entries()) {
    name_width = std::max(name_width, entry.key->name.size());
    value_width = std::max(value_width, entry.value.size());
  }
  std::string text;
  for (const ConfigEntry& entry : config.entries()) {
    const std::string_view value = entry.value.empty() ? "-" : std::string_view(entry.value);
    text += fmt::format("{:<{}}  {:<{}}  {:<16}  {}\n", entry.key->name, name_width, value,
                        value_width, entry.origin, setting_doc(*entry.key));
  }
  const std::string file = config.file().empty() ? "none was found" : config.file();
  return text + fmt::format("\nconfiguration file: {}\n", file);
}

std::string as_json(const Config& config) {
  nlohmann::ordered_json settings = nlohmann::ordered_json::array();
  for (const ConfigEntry& entry : config.entries()) {
    nlohmann::ordered_json setting = {{"name", std::string(entry.key->name)}};
    switch (entry.key->type) {
      case ConfigType::kInteger:
        setting["value"] = config.integer(entry.key->name);
        break;
      case ConfigType::kBoolean:
        setting["value"] = config.boolean(entry.key->name);
        break;
      case ConfigType::kText:
        setting["value"] = entry.value;
        break;
    }
    setting["unit"] = std::string(entry.key->unit);
    setting["origin"] = entry.origin;
    setting["doc"] = setting_doc(*entry.key);
    if (auto values = setting_values(*entry.key); !values.empty()) setting["values"] = values;
    settings.push_back(std::move(setting));
  }
  const nlohmann::ordered_json document = {{"file", config.file()}, {"settings", settings}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

void add_config_command(CLI::App& root, Invocation& invocation) {
  CLI::App* const config = root.add_subcommand("config", "show settings");
  config->require_subcommand(1);
  config->footer(kExample);
  CLI::App* const show = config->add_subcommand(
      "show", "print every setting in force, and where its value comes from");
  show->footer(kExample + exit_status_help("", "a setting cannot be used"));
  const auto settings = std::make_shared<Settings>(*show);
  const auto json = std::make_shared<bool>(false);
  add_json_option(*show, *json);
  show->callback([settings, json, &invocation] {
    invocation.run = [settings, json] {
      const Result<Config> loaded = settings->load();
      if (!loaded) {
        print_error(loaded.error());
        return kCouldNotRun;
      }
      if (const auto usable = engine::configured_options(*loaded); !usable) {
        print_error(usable.error());
        return kCouldNotRun;
      }
      print(*json ? as_json(*loaded) : as_table(*loaded));
      return kDone;
    };
  });
}

}  // namespace heddle::cli
