// Copying a file that is mostly holes, as a recording's is.
#pragma once

#include <string>

#include "base/result.h"

namespace heddle::recordings {

// Makes `to`, for its owner only, as long as `from` and with its holes. Errors: kUnavailable,
// kPermission, kInUse (`to` is there), kExhausted (a full disk), kCancelled (interrupted), kSystem.
Result<void> copy_data(const std::string& from, const std::string& to);

}  // namespace heddle::recordings
