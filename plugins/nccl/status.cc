// Results for errors: see status.h.
#include "plugins/nccl/status.h"

#include "plugins/nccl/host_log.h"

namespace heddle::nccl {

Status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kPeerDead:
    case ErrorCode::kClosed:
    case ErrorCode::kCancelled:
    case ErrorCode::kTimeout:
      return kRemoteError;
    case ErrorCode::kInvalid:
    case ErrorCode::kTruncated:
      return kInvalidArgument;
    case ErrorCode::kVersion:
      return kInvalidUsage;
    case ErrorCode::kUnavailable:
    case ErrorCode::kPermission:
    case ErrorCode::kInUse:
    case ErrorCode::kExhausted:
    case ErrorCode::kSystem:
      return kSystemError;
  }
  return kInternalError;
}

Status report(const Error& error) {
  host_log().warn(error.message());
  return status_of(error.code);
}

}  // namespace heddle::nccl
