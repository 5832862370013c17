// Files in which ranks write which communicator they are in.
#include "launch/ranks/member_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder.h"

namespace heddle::launch {
namespace {

class MemberFilesTest : public testing::Test {
 protected:
  void write(uint32_t number, const std::string& text) {
    std::ofstream(files_.path_of(number)) << text;
  }

  TemporaryFolder folder_ = std::move(*TemporaryFolder::make("heddle-member-files-test"));
  MemberFiles files_{folder_.path()};
};

TEST_F(MemberFilesTest, ARankWasInOnceItHasWritten) {
  EXPECT_FALSE(files_.was_in(3));
  write(3, "");
  EXPECT_FALSE(files_.was_in(3));
  write(3, "1f 4\n");
  EXPECT_TRUE(files_.was_in(3));
}

TEST_F(MemberFilesTest, RanksAgreeOnceAllAreInOneCommunicatorAndNoOthers) {
  EXPECT_FALSE(files_.agree({0, 2}));
  write(0, "1f 2\n");
  EXPECT_FALSE(files_.agree({0, 2}));
  write(2, "1e 2\n");
  EXPECT_FALSE(files_.agree({0, 2}));  // another communicator
  write(2, "1f 2\n");
  EXPECT_TRUE(files_.agree({0, 2}));
  EXPECT_FALSE(files_.agree({0}));  // one that they have not noticed to be lost
  EXPECT_FALSE(files_.agree({0, 1, 2}));
  write(0, "1f 12\n");
  write(2, "1f 12\n");
  EXPECT_FALSE(files_.agree({0, 2}));
}

TEST_F(MemberFilesTest, NoRanksAgree) { EXPECT_TRUE(files_.agree({})); }

}  // namespace
}  // namespace heddle::launch
