// Driver settings: ring sizes, interrupt coalescing, pause frames, channels and private flags of a
// NIC, as `ethtool` prints them. Pure functions but one.
#pragma once

#include <string>

#include "acceptance/report.h"

namespace heddle::acceptance {

// As texts of rows; empty: not known, as where the driver has no answer.
struct DriverSettings {
  std::string rings = {};
  std::string coalescing = {};
  std::string pause = {};
  std::string channels = {};
  std::string private_flags = {};

  bool operator==(const DriverSettings&) const = default;
};

// Of a device in this process's network namespace.
DriverSettings driver_settings(const std::string& device);

// Parts of reading, public for tests: from `ethtool -g`, `-c`, `-a`, `-l` and `--show-priv-flags`.
// What the driver does not have counts as 0: an older ethtool prints it so.
std::string rings_of(const std::string& printed);
std::string coalescing_of(const std::string& printed);
std::string pause_of(const std::string& printed);
std::string channels_of(const std::string& printed);
std::string private_flags_of(const std::string& printed);

// By the names of the fields; what has another shape, as of an older heddle, is not known.
Json json_of(const DriverSettings& settings);
DriverSettings settings_in(const Json& document);

}  // namespace heddle::acceptance
