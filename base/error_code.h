// What error codes are called: in documents that programs read, and in words for people.
#pragma once

#include "base/result.h"

namespace heddle {

// Every code, in the order of their values.
inline constexpr int kErrorCodes = 12;

const char* name_of(ErrorCode code);    // "peer_dead"
const char* reason_of(ErrorCode code);  // "the peer stopped answering"

}  // namespace heddle
