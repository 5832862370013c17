// What NCCL gives a plugin in init: its logger, which writes to heddle's log here, and its profiler
// callback, which accepts every event and records none.
#pragma once

#include <cstdint>
#include <string>

#include "nccl/types.h"

namespace heddle::nccl {

__attribute__((format(printf, 5, 6))) void write_plugin_log(LogLevel level, unsigned long flags,
                                                            const char* file, int line,
                                                            const char* format, ...);

// "HEDDLE_LOG=info shows what the plugin logs" where it has logged what was not shown; else empty.
std::string plugin_log_hint();

Status accept_profiler_event(void** handle, int type, void* parent, int64_t plugin,
                             void* descriptor);

}  // namespace heddle::nccl
