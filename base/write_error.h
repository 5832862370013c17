// Why nothing can be written somewhere, for people: from what the system said.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle {

// `what` failed in a folder with this errno: kPermission, kExhausted (it is full: then `when_full`
// says what to do) or kSystem.
Unexpected cannot_write(std::string what, int error, std::string when_full);

}  // namespace heddle
