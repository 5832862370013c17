// SafeFolder: a peer's paths stay below the folder.
#include "copying/safe_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/temporary_folder.h"

namespace heddle::copying {
namespace {

TEST(SafeFolder, PathsThatLeaveItAreRefused) {
  for (const char* const path : {"", "/etc/passwd", "..", "../a", "a/../b", "a/..", "./a", "a//b",
                                 "a/", ".a.heddle-part", "a/.b.heddle-part/c"}) {
    EXPECT_FALSE(check_path(path)) << path;
  }
  EXPECT_FALSE(check_path(std::string("a\0b", 3)));
  EXPECT_FALSE(check_path(std::string(256, 'a')));
  EXPECT_FALSE(check_path(std::string(2000, 'a') + "/" + std::string(3000, 'b')));
  for (const char* const path : {"a", "a/b", "..a", "a..", "a\nb", "\xff\xfe", ".heddle-part"}) {
    EXPECT_TRUE(check_path(path)) << path;
  }
}

TEST(SafeFolder, NoFolderIsEnteredThroughASymbolicLink) {
  const auto made = TemporaryFolder::make("heddle-copying");
  ASSERT_TRUE(made);
  const std::string inside = made->path() + "/inside";
  const std::string outside = made->path() + "/outside";
  std::filesystem::create_directories(inside + "/folder");
  std::filesystem::create_directories(outside);
  ASSERT_EQ(symlink(outside.c_str(), (inside + "/link").c_str()), 0);
  auto folder = SafeFolder::open(inside, false);
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->place_of("folder/a"));
  const auto place = folder->place_of("link/a");
  ASSERT_FALSE(place);
  EXPECT_NE(place.error().why.find("symbolic link"), std::string::npos) << place.error().why;
  EXPECT_FALSE(folder->below("link", true));
  EXPECT_FALSE(folder->below("../outside", true));
}

TEST(SafeFolder, NamesOfIncompleteFilesFitWhateverTheName) {
  EXPECT_EQ(part_name("a"), ".a.heddle-part");
  const std::string longest(255, 'x');
  EXPECT_LE(part_name(longest).size(), 255u);
  EXPECT_TRUE(is_part_name(part_name(longest)));
  std::string other = longest;
  other.back() = 'y';
  EXPECT_NE(part_name(longest), part_name(other));
}

}  // namespace
}  // namespace heddle::copying
