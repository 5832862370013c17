// Reads a TOML file into a flat list of settings: name (`table.key`), value as text, line, type.
// Config drives it; it keeps the TOML library out of every other file.
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

// Errors: kUnavailable when the file cannot be read; kInvalid with file and line when it is not
// TOML or holds what no setting can be (arrays, dates, numbers with a fraction).
Result<std::vector<FileSetting>> read_settings_file(const std::string& path);

}  // namespace heddle
