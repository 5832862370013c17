// heddle's errors as the results that NCCL expects. NCCL ends a communicator on any of them; a dead
// peer is kRemoteError.
#pragma once

#include "base/result.h"
#include "nccl/types.h"

namespace heddle::nccl {

Status status_of(ErrorCode code);
// Logs the error as a warning in NCCL's log and returns its status.
Status report(const Error& error);

}  // namespace heddle::nccl
