// Config: settings from four layers. The command line wins over HEDDLE_* environment variables,
// these over one TOML file, the file over the defaults. Each key is declared once, in
// config_keys.cc. Every value knows where it came from; `heddle config show` prints entries().
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace heddle {

enum class ConfigType : uint8_t { kText, kInteger, kBoolean };

// One declared setting. `name` may have one dot (`udp.gso`): then the file has it in a table [udp].
// Its environment variable is HEDDLE_ and the name in capitals, the dot as `_` (HEDDLE_UDP_GSO).
struct ConfigKey {
  std::string_view name;
  ConfigType type = ConfigType::kText;
  std::string_view fallback;  // the default, as text
  std::string_view unit;      // "ms", "bytes"; empty where there is none
  std::string_view doc;
  int64_t min = std::numeric_limits<int64_t>::min();  // kInteger only
  int64_t max = std::numeric_limits<int64_t>::max();
  bool or_zero = false;      // kInteger: 0 as well, where it stands for a choice of heddle's own
  std::string_view choices;  // kText: the allowed values, "a|b|c"; empty: any text
};

// Every setting of heddle, in the order in which it is shown.
std::span<const ConfigKey> config_keys();

// HEDDLE_UDP_GSO for udp.gso.
std::string config_variable(std::string_view key_name);

// Where settings come from. A test fills it; a program starts from of_process().
struct ConfigSources {
  std::vector<std::pair<std::string, std::string>> command_line;  // key and value
  std::vector<std::string> environment;                           // NAME=value
  std::string file;  // --config; empty: HEDDLE_CONFIG, else the first of default_files that exists
  std::vector<std::string> default_files;

  // The environment of this process; ~/.config/heddle/heddle.toml, then /etc/heddle/heddle.toml.
  static ConfigSources of_process();
};

// One setting as it is in force.
struct ConfigEntry {
  const ConfigKey* key = nullptr;
  std::string value;
  std::string origin;  // "default", "/etc/heddle/heddle.toml:3", "HEDDLE_PORT", "the command line"
};

class Config {
 public:
  // Reads all layers. Errors: kInvalid for an unknown key, a value that does not fit, a file that
  // is not TOML, each with the place; kUnavailable for a file that was asked for and cannot be
  // read.
  static Result<Config> load(std::span<const ConfigKey> keys, const ConfigSources& sources);

  // The value of a declared key; CHECKs that the key exists and has this type.
  const std::string& text(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const;

  // Every key with its value and origin, in the order of the declaration.
  std::span<const ConfigEntry> entries() const { return entries_; }
  // The file that was read; empty when there was none.
  const std::string& file() const { return file_; }
  // What is odd but no error: HEDDLE_* variables that name no key.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Config() = default;
  Result<void> read_file(const ConfigSources& sources);
  Result<void> read_environment(const ConfigSources& sources);
  Result<void> set(std::string_view name, std::string value, std::string origin);
  ConfigEntry* find(std::string_view name);
  const ConfigEntry& entry(std::string_view name, ConfigType type) const;

  std::vector<ConfigEntry> entries_;
  std::string file_;
  std::vector<std::string> warnings_;
};

}  // namespace heddle
