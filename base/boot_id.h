// The id of the system's current boot: processes with the same id share one machine and its clock.
#pragma once

#include <string>

namespace heddle {

// Read from Linux; empty where /proc is not available.
std::string boot_id();

}  // namespace heddle
