// Which start of the system this is: processes with the same one run on one machine, by one clock.
#pragma once

#include <string>

namespace heddle {

// As Linux says it; empty where it does not (no /proc).
std::string boot_id();

}  // namespace heddle
