// The file of HEDDLE_NCCL_NICS: rails, planes and corrections for interfaces by name.
//   [[nic]]
//   name = "eth0"
//   rail = 0
//   speed_mbits = 100000
// One file may serve all hosts: a name that a host does not have is no error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::nccl::nics {

struct NicOverride {
  std::string name;
  int line = 0;
  std::optional<int> speed_mbits;    // 1 to 10000000
  std::optional<int> port;           // 0 to 65535
  std::optional<int> rail;           // 0 to 32767
  std::optional<int> plane;          // 0 to 32767
  std::optional<double> latency_us;  // 0 to 1000000
};

// Errors: kUnavailable if the file cannot be read; kInvalid with file and line (not TOML, unknown
// key, wrong type or range, no name, a name twice).
Result<std::vector<NicOverride>> read_overrides(const std::string& file);

// The same from text; `file` is the name in errors.
Result<std::vector<NicOverride>> parse_overrides(const std::string& text, const std::string& file);

}  // namespace heddle::nccl::nics
