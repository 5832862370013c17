// Where recordings are kept: a folder of their owner's.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::events {

// Nothing can be recorded there, as the system said by this errno.
Unexpected cannot_record(const std::string& directory, int error);

// Makes the folder where it is missing. Errors: those of cannot_record(), kInvalid (none is named,
// or it is another user's: what others may see of a job is its owner's matter).
Result<void> own_directory(const std::string& directory);

}  // namespace heddle::events
