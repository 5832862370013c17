// Combines the layers of the configuration.

#include "base/config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/check.h"
#include "base/config_file.h"

namespace heddle {
namespace {

constexpr std::string_view kPrefix = "HEDDLE_";
constexpr std::string_view kFileVariable = "HEDDLE_CONFIG";
// Set by the lab for every program inside it.
constexpr std::string_view kLabVariables = "HEDDLE_LAB";
// Credentials of a database and of NATS, which `config show` must not print.
constexpr std::string_view kDatabaseVariables = "HEDDLE_CLICKHOUSE_";
constexpr std::string_view kNatsVariables = "HEDDLE_NATS_";
// Set by a launcher for each of its processes.
constexpr std::array<std::string_view, 9> kLaunchVariables = {
    "HEDDLE_RANK",  "HEDDLE_SIZE",    "HEDDLE_LOCAL_RANK", "HEDDLE_LOCAL_SIZE", "HEDDLE_RUN",
    "HEDDLE_TOKEN", "HEDDLE_ELASTIC", "HEDDLE_JOIN",       "HEDDLE_MEMBER_FILE"};

std::optional<std::string> variable(const ConfigSources& sources, std::string_view name) {
  for (const std::string& pair : sources.environment) {
    if (pair.size() > name.size() && pair[name.size()] == '=' && pair.starts_with(name)) {
      return pair.substr(name.size() + 1);
    }
  }
  return std::nullopt;
}

bool is_choice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    const size_t bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    choices = bar == std::string_view::npos ? "" : choices.substr(bar + 1);
  }
  return false;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> parse_boolean(std::string_view text) {
  if (text == "true" || text == "1" || text == "on") return true;
  if (text == "false" || text == "0" || text == "off") return false;
  return std::nullopt;
}

// The valid values of a key, for messages.
std::string allowed(const ConfigKey& key) {
  if (key.type == ConfigType::kBoolean) return "true or false";
  if (key.type == ConfigType::kInteger) {
    return fmt::format("a whole number from {} to {}{}", key.min, key.max,
                       key.or_zero ? ", or 0" : "");
  }
  if (key.choices.empty()) return "a text";
  std::string list(key.choices);
  for (size_t bar = list.find('|'); bar != std::string::npos; bar = list.find('|')) {
    list.replace(bar, 1, ", ");
  }
  return "one of " + list;
}

bool fits(const ConfigKey& key, std::string_view value) {
  switch (key.type) {
    case ConfigType::kInteger: {
      const auto number = parse_integer(value);
      if (number && *number == 0 && key.or_zero) return true;
      return number && *number >= key.min && *number <= key.max;
    }
    case ConfigType::kBoolean:
      return parse_boolean(value).has_value();
    case ConfigType::kText:
      return key.choices.empty() || is_choice(key.choices, value);
  }
  return false;
}

}  // namespace

std::string config_variable(std::string_view key_name) {
  std::string name(kPrefix);
  for (const char c : key_name) {
    const bool lower = c >= 'a' && c <= 'z';
    name += c == '.' ? '_' : lower ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return name;
}

ConfigSources ConfigSources::of_process() {
  ConfigSources sources;
  for (char** pair = environ; pair != nullptr && *pair != nullptr; ++pair) {
    sources.environment.emplace_back(*pair);
  }
  if (const auto home = variable(sources, "HOME"); home && !home->empty()) {
    sources.default_files.push_back(*home + "/.config/heddle/heddle.toml");
  }
  sources.default_files.emplace_back("/etc/heddle/heddle.toml");
  return sources;
}

Result<Config> Config::load(std::span<const ConfigKey> keys, const ConfigSources& sources) {
  Config config;
  for (const ConfigKey& key : keys) {
    CHECK(fits(key, key.fallback));
    config.entries_.push_back({&key, std::string(key.fallback), "default"});
  }
  if (auto done = config.read_file(sources); !done) return fail(done.error());
  if (auto done = config.read_environment(sources); !done) return fail(done.error());
  for (const auto& [name, value] : sources.command_line) {
    if (auto done = config.set(name, value, "the command line"); !done) return fail(done.error());
  }
  return config;
}

Result<void> Config::read_file(const ConfigSources& sources) {
  file_ = sources.file;
  if (file_.empty()) file_ = variable(sources, kFileVariable).value_or("");
  for (const std::string& candidate : sources.default_files) {
    std::error_code ignored;
    if (file_.empty() && std::filesystem::exists(candidate, ignored)) file_ = candidate;
  }
  if (file_.empty()) return {};

  auto settings = read_settings_file(file_);
  if (!settings) return fail(settings.error());
  for (const FileSetting& setting : *settings) {
    const std::string origin = fmt::format("{}:{}", file_, setting.line);
    const ConfigEntry* entry = find(setting.name);
    if (entry != nullptr && entry->key->type != setting.type) {
      return fail(ErrorCode::kInvalid, fmt::format("cannot use {}", origin),
                  fmt::format("'{}' must be {}", setting.name, allowed(*entry->key)),
                  "correct the file: texts have quotes, numbers and true or false have none");
    }
    if (auto done = set(setting.name, setting.value, origin); !done) return done;
  }
  return {};
}

Result<void> Config::read_environment(const ConfigSources& sources) {
  for (const std::string& pair : sources.environment) {
    const std::string_view name = std::string_view(pair).substr(0, pair.find('='));
    if (!name.starts_with(kPrefix) || name == kFileVariable || name.size() == pair.size()) continue;
    if (name.starts_with(kLabVariables) || name.starts_with(kDatabaseVariables) ||
        name.starts_with(kNatsVariables)) {
      continue;
    }
    if (std::find(kLaunchVariables.begin(), kLaunchVariables.end(), name) !=
        kLaunchVariables.end()) {
      continue;
    }
    const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
      return config_variable(entry.key->name) == name;
    });
    if (found == entries_.end()) {
      warnings_.push_back(fmt::format("the environment variable {} names no setting", name));
      continue;
    }
    auto done = set(found->key->name, pair.substr(name.size() + 1), std::string(name));
    if (!done) return done;
  }
  return {};
}

Result<void> Config::set(std::string_view name, std::string value, std::string origin) {
  ConfigEntry* entry = find(name);
  if (entry == nullptr) {
    return fail(ErrorCode::kInvalid, fmt::format("unknown setting '{}'", name),
                fmt::format("it is set by {}", origin),
                "see `heddle config show` for the settings there are");
  }
  if (!fits(*entry->key, value)) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot set {} to '{}'", name, value),
                fmt::format("it is set by {}", origin),
                fmt::format("it must be {}", allowed(*entry->key)));
  }
  entry->value = std::move(value);
  entry->origin = std::move(origin);
  return {};
}

ConfigEntry* Config::find(std::string_view name) {
  for (ConfigEntry& entry : entries_) {
    if (entry.key->name == name) return &entry;
  }
  return nullptr;
}

const ConfigEntry& Config::entry(std::string_view name, ConfigType type) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry.key->name == name; });
  CHECK(found != entries_.end());
  CHECK(found->key->type == type);
  return *found;
}

const std::string& Config::text(std::string_view name) const {
  return entry(name, ConfigType::kText).value;
}

int64_t Config::integer(std::string_view name) const {
  return *parse_integer(entry(name, ConfigType::kInteger).value);
}

bool Config::boolean(std::string_view name) const {
  return *parse_boolean(entry(name, ConfigType::kBoolean).value);
}

}  // namespace heddle
