// Tests of log levels and lines.

#include "base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle {
namespace {

// The text that `write` puts on standard error.
template <typename Write>
std::string logged(Write write) {
  testing::internal::CaptureStderr();
  write();
  return testing::internal::GetCapturedStderr();
}

class LogTest : public testing::Test {
 protected:
  void TearDown() override { set_log_level(LogLevel::kWarn); }
};

TEST_F(LogTest, WritesALineWithLevelAndText) {
  set_log_level(LogLevel::kInfo);
  const std::string line = logged([] { log_info("{} paths to {}", 8, "spine2"); });
  EXPECT_NE(line.find(" info 8 paths to spine2\n"), std::string::npos) << line;
}

TEST_F(LogTest, LevelsAppearUnderTheNamesThatSetThem) {
  EXPECT_NE(logged([] { log_warn("{{}}"); }).find(" warn {}\n"), std::string::npos);
  EXPECT_NE(logged([] { log_error("x"); }).find(" error x\n"), std::string::npos);
}

TEST_F(LogTest, LinesBelowTheLevelAreDropped) {
  set_log_level(LogLevel::kWarn);
  EXPECT_EQ(logged([] {
              log_info("quiet");
              log_debug("quiet");
            }),
            "");
  EXPECT_NE(logged([] { log_warn("loud"); }), "");
  set_log_level(LogLevel::kOff);
  EXPECT_EQ(logged([] { log_error("quiet"); }), "");
  EXPECT_EQ(logged([] { log_line(LogLevel::kOff, "quiet"); }), "");
}

TEST_F(LogTest, LinesThatAreNotWrittenAreNotFormatted) {
  set_log_level(LogLevel::kOff);
  EXPECT_FALSE(log_enabled(LogLevel::kError));
  EXPECT_FALSE(log_enabled(LogLevel::kOff));
}

TEST(LogLevelName, IsParsed) {
  EXPECT_EQ(parse_log_level("debug"), LogLevel::kDebug);
  EXPECT_EQ(parse_log_level("off"), LogLevel::kOff);
  EXPECT_FALSE(parse_log_level("loud"));
  EXPECT_FALSE(parse_log_level(""));
}

}  // namespace
}  // namespace heddle
