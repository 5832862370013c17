// The logger and the profiler callback of the drive: see plugin_log.h.
#include "nccl/drive/plugin_log.h"

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "base/log.h"

namespace heddle::nccl {
namespace {

heddle::LogLevel level_of(LogLevel level) {
  switch (level) {
    case kLogWarn:
    case kLogAbort:
      return heddle::LogLevel::kWarn;
    case kLogTrace:
      return heddle::LogLevel::kDebug;
    default:
      return heddle::LogLevel::kInfo;
  }
}

// Whether a line of the level info was not shown.
std::atomic<bool>& hidden() {
  static std::atomic<bool> seen{false};
  return seen;
}

}  // namespace

void write_plugin_log(LogLevel level, unsigned long /*flags*/, const char* /*file*/, int /*line*/,
                      const char* format, ...) {
  if (!log_enabled(level_of(level))) {
    if (level_of(level) == heddle::LogLevel::kInfo) hidden().store(true, std::memory_order_relaxed);
    return;
  }
  std::array<char, 1'024> text{};
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  log_line(level_of(level), text.data());
}

std::string plugin_log_hint() {
  return hidden().load(std::memory_order_relaxed) ? "HEDDLE_LOG=info shows what the plugin logs"
                                                  : "";
}

Status accept_profiler_event(void** /*handle*/, int /*type*/, void* /*parent*/, int64_t /*plugin*/,
                             void* /*descriptor*/) {
  return kSuccess;
}

}  // namespace heddle::nccl
