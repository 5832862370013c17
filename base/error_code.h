// Names of error codes: identifiers for machine-readable output, and reasons for users.
#pragma once

#include "base/result.h"

namespace heddle {

// The number of codes.
inline constexpr int kErrorCodes = 12;

const char* name_of(ErrorCode code);    // "peer_dead"
const char* reason_of(ErrorCode code);  // "the peer stopped answering"

}  // namespace heddle
