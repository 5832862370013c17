// Log lines on standard error, `12:00:00.123 warn what happened`, written through spdlog. Programs
// set the level from their configuration; before that, and in plugins, HEDDLE_LOG sets it. Not for
// the packet path, which emits events instead.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace heddle {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarn, kError, kOff };

// Parses "debug", "info", "warn", "error" or "off"; empty for any other text.
std::optional<LogLevel> parse_log_level(std::string_view name);

// Lines below `level` are not written. The default is kWarn.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);

// Writes one line. Thread-safe; never throws.
void log_line(LogLevel level, std::string_view text) noexcept;

template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kDebug)) {
    log_line(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
  }
}

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kInfo)) {
    log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
  }
}

template <typename... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kWarn)) {
    log_line(LogLevel::kWarn, fmt::format(format, std::forward<Args>(args)...));
  }
}

template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(LogLevel::kError)) {
    log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
  }
}

}  // namespace heddle
