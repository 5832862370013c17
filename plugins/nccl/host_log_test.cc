// Tests of HostLog: text passes unchanged.
#include "plugins/nccl/host_log.h"

#include <gtest/gtest.h>

#include <cstdarg>
#include <cstdio>
#include <string>

namespace heddle::nccl {
namespace {

std::string last_line;  // NOLINT: a logger has no argument for where to write

void remember(LogLevel level, unsigned long flags, const char* file, int line, const char* format,
              ...) {
  std::va_list arguments;
  va_start(arguments, format);
  char text[256];
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  last_line = std::to_string(level) + "/" + std::to_string(flags) + " " + text;
  EXPECT_NE(file, nullptr);
  EXPECT_GE(line, 0);
}

TEST(HostLog, APercentSignOfATextIsNoFormat) {
  HostLog log;
  log.set(&remember);
  log.warn("100%s done");
  EXPECT_EQ(last_line, "2/16 NET/heddle: 100%s done");
}

TEST(HostLog, WithoutALoggerALineIsDroppedAndANullLoggerKeepsTheOneBefore) {
  HostLog log;
  last_line.clear();
  log.warn("lost");
  EXPECT_EQ(last_line, "");
  log.set(&remember);
  log.set(nullptr);
  log.info(kLogInit, "kept");
  EXPECT_EQ(last_line, "3/1 NET/heddle: kept");
}

}  // namespace
}  // namespace heddle::nccl
