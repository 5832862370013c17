// LineTag: pieces in, whole lines out.
#include "launch/ranks/line_tag.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle::launch {
namespace {

TEST(LineTagTest, LinesComeOutWholeHoweverTheyComeIn) {
  LineTag tag("[3] ");
  EXPECT_EQ(tag.feed("on"), "");
  EXPECT_EQ(tag.feed("e\ntw"), "[3] one\n");
  EXPECT_EQ(tag.feed("o\n\nthree\n"), "[3] two\n[3] \n[3] three\n");
  EXPECT_EQ(tag.finish(), "");
}

TEST(LineTagTest, TheLastLineNeedsNoEnd) {
  LineTag tag("[0] ");
  EXPECT_EQ(tag.feed("no end"), "");
  EXPECT_EQ(tag.finish(), "[0] no end\n");
  EXPECT_EQ(tag.finish(), "");
}

TEST(LineTagTest, AVeryLongLineIsNotHeldBack) {
  LineTag tag("[0] ");
  std::string lines = tag.feed(std::string(100'000, 'x'));
  EXPECT_GT(lines.size(), 60'000U);
  lines += tag.finish();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), 'x'), 100'000);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
}

}  // namespace
}  // namespace heddle::launch
