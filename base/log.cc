// The only file that uses the logging library.

#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "base/own_mutex.h"
#include "base/per_process.h"

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
      std::make_shared<spdlog::logger>("heddle", std::make_shared<spdlog::sinks::stderr_sink_st>());
  made->set_pattern("%H:%M:%S.%e %v");
  made->set_level(spdlog::level::trace);  // see least_level()
  return made;
}

// An OwnMutex instead of spdlog's, so that a child of fork() never waits for a mutex that a thread
// of its parent held.
struct Logger {
  OwnMutex mutex;
  const std::shared_ptr<spdlog::logger> lines = make_logger();
};

constexpr int kNotSet = -1;

std::atomic<int>& least_level() {
  static constinit std::atomic<int> level{kNotSet};
  return level;
}

int level_of_process() {
  const int known = least_level().load(std::memory_order_relaxed);
  if (known != kNotSet) return known;
  const char* wanted = std::getenv("HEDDLE_LOG");
  const auto level = parse_log_level(wanted != nullptr ? wanted : "");
  int expected = kNotSet;
  const int own = static_cast<int>(level.value_or(LogLevel::kWarn));
  return least_level().compare_exchange_strong(expected, own) ? own : expected;
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

void set_log_level(LogLevel level) { least_level().store(static_cast<int>(level)); }

bool log_enabled(LogLevel level) {
  return level != LogLevel::kOff && static_cast<int>(level) >= level_of_process();
}

void log_line(LogLevel level, std::string_view text) noexcept {
  if (!log_enabled(level)) return;
  try {
    static constinit PerProcess<Logger> of_process;
    Logger& logger = of_process.get();
    const OwnMutex::Lock lock = logger.mutex.lock();
    logger.lines->log(spdlog_level(level), "{} {}", kNames[static_cast<size_t>(level)], text);
  } catch (...) {  // NOLINT(bugprone-empty-catch): a log line is never worth a failure
  }
}

}  // namespace heddle
