// Config: settings from four layers. The command line overrides HEDDLE_* environment variables,
// these override one TOML file, and the file overrides the defaults. config_keys.cc declares each
// key once. Every value has its origin; `heddle config show` prints entries().
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

// A declared setting. `name` may have one dot (`udp.gso`), which means a table [udp] in the file.
// Its environment variable is HEDDLE_ and the name in capitals, with `_` for the dot
// (HEDDLE_UDP_GSO).
struct ConfigKey {
  std::string_view name;
  ConfigType type = ConfigType::kText;
  std::string_view fallback;  // the default, as text
  std::string_view unit;      // "ms", "bytes"; empty: none
  std::string_view doc;
  int64_t min = std::numeric_limits<int64_t>::min();  // kInteger only
  int64_t max = std::numeric_limits<int64_t>::max();
  bool or_zero = false;      // kInteger: 0 is valid as well and means "automatic"
  std::string_view choices;  // kText: the valid values, "a|b|c"; empty: any text
};

// All settings of heddle, in display order.
std::span<const ConfigKey> config_keys();

// The environment variable of a key: HEDDLE_UDP_GSO for udp.gso.
std::string config_variable(std::string_view key_name);

// The inputs of load(). A test fills it; a program starts from of_process().
struct ConfigSources {
  std::vector<std::pair<std::string, std::string>> command_line;  // key and value
  std::vector<std::string> environment;                           // NAME=value
  std::string file;  // --config; empty: HEDDLE_CONFIG, else the first existing default file
  std::vector<std::string> default_files;

  // This process's environment; default files ~/.config/heddle/heddle.toml and
  // /etc/heddle/heddle.toml.
  static ConfigSources of_process();
};

// A setting's effective value.
struct ConfigEntry {
  const ConfigKey* key = nullptr;
  std::string value;
  std::string origin;  // "default", "/etc/heddle/heddle.toml:3", "HEDDLE_PORT", "the command line"
};

class Config {
 public:
  // Reads all layers. Errors: kInvalid for an unknown key, an invalid value, or a file that is not
  // TOML, each with its location; kUnavailable for a requested file that cannot be read.
  static Result<Config> load(std::span<const ConfigKey> keys, const ConfigSources& sources);

  // The value of a declared key; CHECKs that the key exists and has this type.
  const std::string& text(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const;

  // Every key with its value and origin, in declaration order.
  std::span<const ConfigEntry> entries() const { return entries_; }
  // The file that was read; empty if none.
  const std::string& file() const { return file_; }
  // Oddities that are no errors: HEDDLE_* variables that name no key.
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
