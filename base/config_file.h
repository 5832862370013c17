// Reads a TOML file into a flat list of settings: name (`table.key`), value as text, line, type.
// Config calls it; no other file depends on the TOML library, except document.cc.
#pragma once

#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"

namespace heddle {

struct FileSetting {
  std::string name;
  std::string value;
  ConfigType type = ConfigType::kText;
  int line = 0;
};

// Errors: kUnavailable if the file cannot be read; kInvalid with file and line if it is not TOML or
// contains types that no setting has (arrays, dates, fractions).
Result<std::vector<FileSetting>> read_settings_file(const std::string& path);

}  // namespace heddle
