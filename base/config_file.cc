// Settings from TOML: see config_file.h. Only this file and document.cc know the TOML library.

#include "base/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

namespace heddle {
namespace {

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

std::optional<FileSetting> setting_of(const toml::node& node) {
  FileSetting setting;
  setting.line = line_of(node);
  if (const auto* text = node.as_string()) {
    setting.value = text->get();
    setting.type = ConfigType::kText;
  } else if (const auto* integer = node.as_integer()) {
    setting.value = std::to_string(integer->get());
    setting.type = ConfigType::kInteger;
  } else if (const auto* boolean = node.as_boolean()) {
    setting.value = boolean->get() ? "true" : "false";
    setting.type = ConfigType::kBoolean;
  } else {
    return std::nullopt;
  }
  return setting;
}

Result<void> flatten(const toml::table& table, const std::string& prefix, const std::string& path,
                     std::vector<FileSetting>& settings) {
  for (const auto& [key, node] : table) {
    std::string name = prefix + std::string(key.str());
    if (const toml::table* inner = node.as_table()) {
      if (auto done = flatten(*inner, name + ".", path, settings); !done) return done;
      continue;
    }
    std::optional<FileSetting> setting = setting_of(node);
    if (!setting) {
      return fail(ErrorCode::kInvalid, fmt::format("cannot use {}:{}", path, line_of(node)),
                  fmt::format("'{}' is neither a text, a whole number, nor true or false", name),
                  "see `heddle config show` for the keys and their types");
    }
    setting->name = std::move(name);
    settings.push_back(std::move(*setting));
  }
  return {};
}

}  // namespace

Result<std::vector<FileSetting>> read_settings_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // an empty file makes `text` fail, and errno stays 0
  if (!file.is_open() || (text.fail() && errno != 0)) {
    return fail(ErrorCode::kUnavailable, fmt::format("cannot read the configuration file {}", path),
                std::strerror(errno), "check --config, HEDDLE_CONFIG and the file's rights");
  }
  std::vector<FileSetting> settings;
  try {
    const toml::table table = toml::parse(text.str(), path);
    if (auto done = flatten(table, "", path, settings); !done) return fail(done.error());
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::kInvalid,
                fmt::format("cannot read {}:{}", path, error.source().begin.line),
                std::string(error.description()), "correct the file; it must be TOML");
  }
  return settings;
}

}  // namespace heddle
