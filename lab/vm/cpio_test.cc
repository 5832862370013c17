// Tests of the archive, against the format's description in cpio(5).
#include "lab/vm/cpio.h"

#include <gtest/gtest.h>

namespace heddle::lab::vm {
namespace {

TEST(Cpio, HeaderNameAndContentEndAtAMultipleOfFour) {
  Cpio archive;
  archive.add_file("ab", "hello", true);
  const std::string bytes = archive.finish();
  // 110 bytes of header, "ab\0" and 3 of padding, 5 of content and 3 of padding.
  const std::string expected =
      "070701"
      "00000001"
      "000081ED"
      "00000000"
      "00000000"
      "00000001"
      "00000000"
      "00000005"
      "00000000"
      "00000000"
      "00000000"
      "00000000"
      "00000003"
      "00000000";
  ASSERT_EQ(bytes.substr(0, 110), expected);
  EXPECT_EQ(bytes.substr(110, 6), std::string("ab\0\0\0\0", 6).substr(0, 6));
  EXPECT_EQ(bytes.substr(116, 8), std::string("hello\0\0\0", 8));
  EXPECT_EQ(bytes.substr(124, 6), "070701");
  EXPECT_NE(bytes.find("TRAILER!!!"), std::string::npos);
  EXPECT_EQ(bytes.size() % 4, 0u);
}

TEST(Cpio, FoldersAndPlainFilesHaveTheirModes) {
  Cpio archive;
  archive.add_folder("bin");
  archive.add_file("bin/data", "");
  const std::string bytes = archive.finish();
  EXPECT_EQ(bytes.substr(14, 8), "000041ED");
  const size_t second = bytes.find("070701", 6);
  EXPECT_EQ(bytes.substr(second + 14, 8), "000081A4");
  EXPECT_EQ(bytes.substr(second + 6, 8), "00000002");
}

}  // namespace
}  // namespace heddle::lab::vm
