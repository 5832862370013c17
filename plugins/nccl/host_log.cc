// Lines for NCCL's log, and heddle's errors as NCCL's results.
#include "plugins/nccl/host_log.h"

namespace heddle::nccl {

void HostLog::set(Logger logger) {
  if (logger != nullptr) logger_.store(logger, std::memory_order_release);
}

void HostLog::warn(const std::string& text) const {
  const Logger logger = logger_.load(std::memory_order_acquire);
  if (logger != nullptr) logger(kLogWarn, kLogNet, "heddle", 0, "NET/heddle: %s", text.c_str());
}

void HostLog::info(unsigned long subsystem, const std::string& text) const {
  const Logger logger = logger_.load(std::memory_order_acquire);
  if (logger != nullptr) logger(kLogInfo, subsystem, "heddle", 0, "NET/heddle: %s", text.c_str());
}

HostLog& host_log() {
  static constinit HostLog log;
  return log;
}

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
