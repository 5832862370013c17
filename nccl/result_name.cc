// NCCL's names of its results: see result_name.h.
#include "nccl/result_name.h"

namespace heddle::nccl {

const char* result_name(Status status) {
  switch (status) {
    case kSuccess:
      return "ncclSuccess";
    case kUnhandledCudaError:
      return "ncclUnhandledCudaError";
    case kSystemError:
      return "ncclSystemError";
    case kInternalError:
      return "ncclInternalError";
    case kInvalidArgument:
      return "ncclInvalidArgument";
    case kInvalidUsage:
      return "ncclInvalidUsage";
    case kRemoteError:
      return "ncclRemoteError";
    case kInProgress:
      return "ncclInProgress";
    case kTimedOut:
      return "ncclTimeout";
  }
  return "ncclResult";
}

ErrorCode error_code(Status status) {
  switch (status) {
    case kRemoteError:
      return ErrorCode::kPeerDead;
    case kTimedOut:
      return ErrorCode::kTimeout;
    default:
      return ErrorCode::kSystem;
  }
}

}  // namespace heddle::nccl
