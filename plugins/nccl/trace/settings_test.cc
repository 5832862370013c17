// Settings of the environment: the defaults of base/config_keys.cc, and values that are refused.
#include "plugins/nccl/trace/settings.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

#include "base/config.h"
#include "base/units.h"

namespace heddle::nccl::trace {
namespace {

std::string wanted_name;   // NOLINT: a variable's reader has no other argument
std::string wanted_value;  // NOLINT

const char* folder_and_one(const char* name) {
  if (std::strcmp(name, "HEDDLE_RECORD") == 0) return "job";
  return name == wanted_name ? wanted_value.c_str() : nullptr;
}

Result<Settings> with(const char* name, const char* value) {
  wanted_name = name;
  wanted_value = value;
  return read_settings(folder_and_one);
}

TEST(Settings, NothingIsRecordedWithoutAFolder) {
  const auto none = read_settings([](const char* /*name*/) -> const char* { return nullptr; });
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->recording.directory, "");
}

TEST(Settings, DefaultsAreThoseOfHeddlesSettings) {
  const auto settings = with("", "");
  ASSERT_TRUE(settings.has_value());
  const auto fallback = [](std::string_view name) {
    for (const ConfigKey& key : config_keys()) {
      if (key.name == name) return key.fallback;
    }
    return std::string_view("no such setting");
  };
  EXPECT_EQ(settings->recording.directory, "job");
  EXPECT_EQ(settings->recording.level, events::record_level(fallback("record_level")));
  EXPECT_EQ(std::to_string(settings->recording.most.count >> 20), fallback("record_mebibytes"));
  EXPECT_EQ(fallback("record_durable_seconds"), "0");
  EXPECT_EQ(settings->recording.durable, Nanos{});
  EXPECT_EQ(fallback("nccl.trace_copies"), settings->plain_copies ? "true" : "false");
}

TEST(Settings, ValuesCount) {
  EXPECT_EQ(with("HEDDLE_RECORD_LEVEL", "bins")->recording.level, events::RecordLevel::kBins);
  EXPECT_EQ(with("HEDDLE_RECORD_MEBIBYTES", "3")->recording.most, mebibytes(3));
  EXPECT_EQ(with("HEDDLE_RECORD_DURABLE_SECONDS", "5")->recording.durable, seconds(5));
  EXPECT_TRUE(with("HEDDLE_NCCL_TRACE_COPIES", "true")->plain_copies);
}

TEST(Settings, AValueThatIsNoneIsAnErrorThatNamesIt) {
  for (const char* name : {"HEDDLE_RECORD_LEVEL", "HEDDLE_RECORD_MEBIBYTES",
                           "HEDDLE_RECORD_DURABLE_SECONDS", "HEDDLE_NCCL_TRACE_COPIES"}) {
    const auto wrong = with(name, "99999999x");
    ASSERT_FALSE(wrong.has_value()) << name;
    EXPECT_NE(wrong.error().why.find(name), std::string::npos) << wrong.error().message();
  }
  EXPECT_FALSE(with("HEDDLE_RECORD_MEBIBYTES", "65537").has_value());
}

}  // namespace
}  // namespace heddle::nccl::trace
