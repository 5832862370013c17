// NCCL's names of its results, for messages: "ncclRemoteError".
#pragma once

#include "base/result.h"
#include "nccl/types.h"

namespace heddle::nccl {

// "ncclResult" for a value that NCCL does not define.
const char* result_name(Status status);
// heddle's code for a plugin's result: kRemoteError is kPeerDead, kTimedOut kTimeout, all others
// kSystem. None is a code that a wrong request of the user has.
ErrorCode error_code(Status status);

}  // namespace heddle::nccl
