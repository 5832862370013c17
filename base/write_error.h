// Errors for failed writes, derived from errno, with text for users.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle {

// An Error for `what`, which failed in a folder with this errno: kPermission, kExhausted (full;
// `when_full` is the advice) or kSystem.
Unexpected cannot_write(std::string what, int error, std::string when_full);

}  // namespace heddle
