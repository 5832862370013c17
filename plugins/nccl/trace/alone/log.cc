// base/log.h without spdlog, for the same reason: the few lines that a recording may log.
#include "base/log.h"

#include <cstdio>

namespace heddle {

bool log_enabled(LogLevel level) { return level >= LogLevel::kWarn; }

void log_line(LogLevel level, std::string_view text) noexcept {
  if (!log_enabled(level)) return;
  std::fprintf(stderr, "heddle: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace heddle
