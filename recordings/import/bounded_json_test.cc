// JSON of other tools: how deep it may be, and how much of it there may be.
#include "recordings/import/bounded_json.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::recordings {
namespace {

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

TEST(BoundedJson, ValuesMayStandInEachOtherToABound) {
  EXPECT_TRUE(read_json(nested(kMostJsonDepth)));
  const Result<ForeignJson> deep = read_json(nested(kMostJsonDepth + 1));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, ErrorCode::kExhausted);
  EXPECT_TRUE(read_json('[' + std::string(100, ' ') + "{}, {}, {}]"));
}

TEST(BoundedJson, BracketsInTextsDoNotCount) {
  const std::string brackets(100, '[');
  const Result<ForeignJson> read = read_json("{\"a\\\"" + brackets + "\": \"\\\\\"}");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->begin().key(), "a\"" + brackets);
}

TEST(BoundedJson, WhatIsDamagedIsRefused) {
  for (const char* text : {"", "[1,", "{\"a\":}", "]", "\"", "\"\\", "nonsense"}) {
    const Result<ForeignJson> read = read_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
  }
}

TEST(BoundedJson, ARefusalNamesItsByte) {
  EXPECT_EQ(read_json("[1, x]").error().why, "it is no JSON, or damaged at byte 5");
  EXPECT_EQ(read_json("[1,").error().why, "it is no JSON, or damaged at byte 4");
  const std::string before = R"(["a\"[[", {"b": )";
  EXPECT_EQ(
      read_json(before + nested(kMostJsonDepth)).error().why,
      "values are nested too deeply at byte " + std::to_string(before.size() + kMostJsonDepth - 1));
}

// Lines of JSON, some of them cut off, are no document: their depths do not add up.
TEST(BoundedJson, HalfLinesAreNoDepth) {
  std::string lines = "{}\n";
  for (int i = 0; i < 2 * kMostJsonDepth; ++i) lines += "{\"a\": [\n";
  const Result<ForeignJson> read = read_json(lines);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kInvalid);
}

// 117,000 events of a timeline took half a minute, since each took as long as all before it.
TEST(BoundedJson, ALongArrayIsReadInTheTimeThatItsLengthTakes) {
  constexpr size_t kObjects = 500'000;
  std::string text = "[{}";
  for (size_t i = 1; i < kObjects; ++i) text += ",{}";
  const Result<ForeignJson> read = read_json(text + "]");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->size(), kObjects);
}

}  // namespace
}  // namespace heddle::recordings
