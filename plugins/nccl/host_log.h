// HostLog: the plugin's lines in NCCL's own log, where the user looks for them. NCCL hands its
// logger over at init; before that, and in tests that hand over none, lines are dropped.
#pragma once

#include <atomic>
#include <string>

#include "nccl/types.h"

namespace heddle::nccl {

class HostLog {
 public:
  // The last logger that is not null counts. Any thread.
  void set(Logger logger);
  // NCCL_DEBUG=WARN shows these.
  void warn(const std::string& text) const;
  // NCCL_DEBUG=INFO shows these, where NCCL_DEBUG_SUBSYS names `subsystem` (a bit of types.h).
  void info(unsigned long subsystem, const std::string& text) const;

 private:
  std::atomic<Logger> logger_ = nullptr;
};

// The process's log: NCCL hands the same logger to net, profiler and tuner.
HostLog& host_log();

}  // namespace heddle::nccl
