// The only file that knows the logging library.

#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstdlib>
#include <memory>

namespace heddle {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"debug", "info", "warn", "error", "off"};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

std::shared_ptr<spdlog::logger> make_logger() {
  auto made =
      std::make_shared<spdlog::logger>("heddle", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  made->set_pattern("%H:%M:%S.%e %v");
  const char* wanted = std::getenv("HEDDLE_LOG");
  const auto level = parse_log_level(wanted != nullptr ? wanted : "");
  made->set_level(spdlog_level(level.value_or(LogLevel::kWarn)));
  return made;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> made = make_logger();
  return *made;
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

void set_log_level(LogLevel level) { logger().set_level(spdlog_level(level)); }

bool log_enabled(LogLevel level) {
  return level != LogLevel::kOff && logger().should_log(spdlog_level(level));
}

void log_line(LogLevel level, std::string_view text) noexcept {
  if (level == LogLevel::kOff) return;
  try {
    logger().log(spdlog_level(level), "{} {}", kNames[static_cast<size_t>(level)], text);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a log line is never worth a failure
  }
}

}  // namespace heddle
