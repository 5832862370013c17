// Classes of kernel messages, by lines that kernels and drivers print, and the form of a record.
#include "nodes/kernel_messages.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "nodes/text_pattern.h"

namespace heddle::nodes {
namespace {

using events::KernelMessageClass;

TEST(KernelMessages, LinesOfKernelsAndDriversHaveTheirClass) {
  std::ifstream lines("nodes/testing/kernel_lines.txt");
  ASSERT_TRUE(lines) << "the lines are missing";
  size_t classified = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string what, device, code, text;
    std::getline(fields, what, '|');
    std::getline(fields, device, '|');
    std::getline(fields, code, '|');
    std::getline(fields, text);
    const auto message = classify_kernel_message(text);
    ASSERT_EQ(message.has_value(), what != "none") << text;
    if (!message) continue;
    ++classified;
    EXPECT_EQ(name_of(message->what), what) << text;
    EXPECT_EQ(message->device.view(), device) << text;
    EXPECT_EQ(std::to_string(message->code), code) << text;
  }
  EXPECT_GT(classified, 50u);
}

TEST(KernelMessages, ARecordHasSeveritySequenceAndStamp) {
  const auto record = parse_kernel_record("28,1234,5678901,-,caller=T1;the text\n SUBSYSTEM=pci\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->severity, 4);
  EXPECT_EQ(record->facility, 3u);
  EXPECT_EQ(record->sequence, 1234u);
  EXPECT_EQ(record->stamp, micros(5'678'901));
  EXPECT_EQ(record->text, "the text");
}

TEST(KernelMessages, MalformedLinesGiveNoRecord) {
  for (const char* text : {"", ";", "a,1,2,-;x", "4,1,2,-", "4,1;x", "4,1,99999999999999999999,-;x",
                           "4,1,9223372036854775807,-;x", "-1,1,2,-;x"}) {
    EXPECT_FALSE(parse_kernel_record(text)) << text;
  }
}

TEST(TextPattern, PlacesTakeTheShortestTextThatMatches) {
  const auto match = match_pattern("*{device}: {detail} at {code}*", "a b: c d at 12 at 13");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->device, "b");
  EXPECT_EQ(match->detail, "c d");
  EXPECT_EQ(match->code, 12u);
}

TEST(TextPattern, AWordHasNoSpaceAndIsNotEmpty) {
  EXPECT_FALSE(match_pattern("on {device}: x", "on : x"));
  EXPECT_FALSE(match_pattern("on {device}: x", "on a b: x"));
  EXPECT_TRUE(match_pattern("on {device}: x", "on a: x"));
}

TEST(TextPattern, ANumberMayNotOverflow) {
  EXPECT_FALSE(match_pattern("{code}", "4294967296"));
  EXPECT_EQ(match_pattern("{code}", "4294967295")->code, UINT32_MAX);
  EXPECT_FALSE(match_pattern("{code}", ""));
}

// What lies behind the bound is not looked at, so that a line's time is bounded.
TEST(TextPattern, LongTextIsCut) {
  EXPECT_TRUE(match_pattern("a*", "a" + std::string(100'000, 'b')));
  EXPECT_FALSE(match_pattern("*z", std::string(100'000, 'b') + "z"));
}

}  // namespace
}  // namespace heddle::nodes
