// Private folders: created for their owner only; one that another user could have created is
// refused with a remedy.
#include "collectives/rendezvous/private_folder.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace heddle::collectives {
namespace {

using testing::HasSubstr;

class PrivateFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = testing::TempDir() + "heddle-private-XXXXXX";
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    place_ = made;
    path_ = made + "/heddle";
  }
  void TearDown() override { std::filesystem::remove_all(place_); }

  void expect_refused(const char* why) const {
    const Result<void> made = make_private_folder(path_);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::kPermission);
    EXPECT_THAT(made.error().what, HasSubstr(path_));
    EXPECT_THAT(made.error().why, HasSubstr(why));
    EXPECT_THAT(made.error().todo, HasSubstr("TMPDIR"));
  }

  std::string place_;
  std::string path_;
};

TEST(PrivateFolderNameTest, IsOfTheUserWhereOthersMayWrite) {
  const std::string user = std::to_string(geteuid());
  EXPECT_EQ(private_folder("/run/user/7", "/var/tmp"), "/run/user/7/heddle");
  EXPECT_EQ(private_folder("", "/var/tmp"), "/var/tmp/heddle-" + user);
  EXPECT_EQ(private_folder("relative", ""), "/tmp/heddle-" + user);
}

TEST_F(PrivateFolderTest, IsForItsOwnerOnlyWhateverTheUmask) {
  const mode_t before = umask(0);
  const Result<void> made = make_private_folder(path_);
  umask(before);
  ASSERT_TRUE(made) << made.error().message();
  struct stat about {};
  ASSERT_EQ(lstat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700U);
  EXPECT_TRUE(make_private_folder(path_)) << "it is there already";
}

TEST_F(PrivateFolderTest, RightsOfOthersAreTakenAway) {
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  ASSERT_EQ(chmod(path_.c_str(), 0777), 0);
  ASSERT_TRUE(make_private_folder(path_));
  struct stat about {};
  ASSERT_EQ(lstat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700U);
}

TEST_F(PrivateFolderTest, ALinkIsNotFollowed) {
  const std::string other = place_ + "/other";
  ASSERT_EQ(mkdir(other.c_str(), 0700), 0);
  std::filesystem::create_symlink(other, path_);
  expect_refused("it is a link");
}

TEST_F(PrivateFolderTest, AFileIsNoFolder) {
  std::ofstream(path_) << "text";
  expect_refused("it is no folder");
}

TEST_F(PrivateFolderTest, OneThatAnotherUserMadeFirstIsRefusedWithWhatToDo) {
  if (geteuid() != 0) GTEST_SKIP() << "this is not root: it cannot make a folder for another user";
  ASSERT_EQ(mkdir(path_.c_str(), 0777), 0);
  ASSERT_EQ(chown(path_.c_str(), 12345, 12345), 0);
  expect_refused("it belongs to user 12345");
}

TEST_F(PrivateFolderTest, APlaceWhereOthersMayRenameItIsRefused) {
  ASSERT_EQ(chmod(place_.c_str(), 0777), 0);
  expect_refused("sticky");
  ASSERT_EQ(chmod(place_.c_str(), 01777), 0);
  EXPECT_TRUE(make_private_folder(path_));
}

TEST_F(PrivateFolderTest, ItIsRemovedWhenNoRunHasAFileInIt) {
  ASSERT_TRUE(make_private_folder(path_));
  const std::string file = path_ + "/mpi-1";
  std::ofstream(file) << "text";
  remove_private_folder(path_);
  EXPECT_TRUE(std::filesystem::exists(file)) << "another run's";
  std::filesystem::remove(file);
  remove_private_folder(path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace heddle::collectives
