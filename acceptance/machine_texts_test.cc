// Machine texts: long, hostile and plain ones.
#include "acceptance/machine_texts.h"

#include <gtest/gtest.h>

#include "acceptance/params.h"

namespace heddle::acceptance {
namespace {

constexpr size_t kMost = params::kMostText;

TEST(MachineTexts, ShortOnesStayAndLongOnesAreCutWithAMark) {
  EXPECT_EQ(machine_text("no route to host"), "no route to host");
  EXPECT_EQ(machine_text(std::string(kMost, 'x')), std::string(kMost, 'x'));
  EXPECT_EQ(machine_text(std::string(size_t{64} << 20, 'x')), std::string(kMost, 'x') + " [...]");
}

TEST(MachineTexts, AreCutBetweenCharactersOfUtf8) {
  std::string text;
  for (size_t i = 0; i < kMost + 1; ++i) text += "\xe7\x8a\xac";
  const std::string cut = machine_text(text);
  EXPECT_EQ(cut, text.substr(0, 3 * kMost) + " [...]");
}

TEST(MachineTexts, BytesThatAreNoUtf8AreBoundedToo) {
  EXPECT_LE(machine_text(std::string(size_t{1} << 20, '\x80')).size(), 5 * kMost + 6);
}

TEST(MachineTexts, ControlCharactersAreReplaced) { EXPECT_EQ(machine_text("a\x1b[2Jb"), "a?[2Jb"); }

// A copy of what is nested a million times ends the process.
TEST(MachineTexts, DocumentsAreNestedToABoundedDepth) {
  EXPECT_EQ(machine_document(R"({"a":[{"b":[1,"c",null]}]})").dump(),
            R"({"a":[{"b":[1,"c",null]}]})");
  const size_t deep = size_t{1} << 20;
  const Json nested = machine_document(std::string(deep, '[') + std::string(deep, ']'));
  const Json copy = nested;
  EXPECT_LE(copy.dump().size(), 2U * params::kMostDepth + 2);
  EXPECT_TRUE(machine_document("{").is_discarded());
  EXPECT_TRUE(machine_document("").is_discarded());
}

TEST(MachineTexts, NamesArePrintableAndShort) {
  EXPECT_TRUE(is_machine_name("eth0"));
  EXPECT_TRUE(is_machine_name("mlx5_0 port 1"));
  for (const char* const wrong : {"", " eth0", "eth0 ", "eth\n0", "eth\xff", "\xe7\x8a\xac"}) {
    EXPECT_FALSE(is_machine_name(wrong)) << wrong;
  }
  EXPECT_TRUE(is_machine_name(std::string(params::kMostNameBytes, 'x')));
  EXPECT_FALSE(is_machine_name(std::string(params::kMostNameBytes + 1, 'x')));
}

}  // namespace
}  // namespace heddle::acceptance
