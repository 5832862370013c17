// Lines for NCCL's log: see host_log.h.
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

}  // namespace heddle::nccl
