// The directory of recordings, owned by their user.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::events {

// The error for a directory in which recording failed with this errno.
Unexpected cannot_record(const std::string& directory, int error);

// Creates the directory if needed. Errors: those of cannot_record(), kInvalid (empty name, or owned
// by another user, who could then read the job's data).
Result<void> own_directory(const std::string& directory);

}  // namespace heddle::events
