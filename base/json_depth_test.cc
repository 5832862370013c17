// Depth of JSON texts; brackets in strings do not count.
#include "base/json_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle {
namespace {

TEST(JsonDepth, ArraysAndObjectsCount) {
  EXPECT_FALSE(json_nests_deeper("1", 0));
  EXPECT_TRUE(json_nests_deeper("[]", 0));
  EXPECT_FALSE(json_nests_deeper(R"([{"a": [1]}, [[2]]])", 3));
  EXPECT_TRUE(json_nests_deeper(R"([{"a": [1]}, [[2]]])", 2));
  EXPECT_TRUE(json_nests_deeper(std::string(100'000, '['), 16));
}

TEST(JsonDepth, BracketsInStringsDoNotCount) {
  EXPECT_FALSE(json_nests_deeper(R"(["[[[[", "\\\"[[[[", "{"])", 1));
  EXPECT_FALSE(json_nests_deeper(R"(["\\", "["])", 1));
  EXPECT_TRUE(json_nests_deeper(R"(["\\", [1]])", 1));
}

}  // namespace
}  // namespace heddle
