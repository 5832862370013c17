// Key files: valid files are read; files that others could read or change are rejected with the
// reason.
#include "engine/key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace heddle::engine {
namespace {

class KeyFileTest : public ::testing::Test {
 protected:
  KeyFileTest() {
    folder_ = ::testing::TempDir() + "heddle-key-XXXXXX";
    if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no folder at " + folder_);
    path_ = folder_ + "/keys";
  }
  ~KeyFileTest() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
  }
  void expect_refused(ErrorCode code, const std::string& word) {
    const auto keys = read_key_file(path_);
    ASSERT_FALSE(keys);
    EXPECT_EQ(keys.error().code, code);
    const std::string message = keys.error().message();
    EXPECT_NE(message.find(word), std::string::npos) << message;
    EXPECT_NE(message.find(path_), std::string::npos) << message;
  }

  std::string folder_;
  std::string path_;
};

const std::string kOne(64, '1');
const std::string kTwo = std::string(62, '2') + "aF";

TEST_F(KeyFileTest, KeysAreReadOnePerLineInOrder) {
  write("# the old one comes second\n\n" + kTwo + "  # since Monday\r\n\t" + kOne);
  const auto keys = read_key_file(path_);
  ASSERT_TRUE(keys) << keys.error().message();
  ASSERT_EQ(keys->size(), 2U);
  EXPECT_EQ((*keys)[0].secret[31], std::byte{0xaf});
  EXPECT_EQ((*keys)[1].secret[0], std::byte{0x11});
}

TEST_F(KeyFileTest, FilesAccessibleByOthersAreRejected) {
  for (const mode_t good : {0600U, 0400U}) {
    write(kOne, good);
    EXPECT_TRUE(read_key_file(path_)) << good;
    unlink(path_.c_str());
  }
  for (const mode_t bad : {0640U, 0620U, 0610U, 0604U, 0602U, 0601U, 0666U}) {
    write(kOne, bad);
    expect_refused(ErrorCode::kPermission, "chmod 600");
  }
}

TEST_F(KeyFileTest, AFileOfAnotherUserIsRejected) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  write(kOne);
  ASSERT_EQ(chown(path_.c_str(), 12345, 0), 0);
  expect_refused(ErrorCode::kPermission, "user 12345");
}

TEST_F(KeyFileTest, AnythingButARegularFileIsRejected) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  expect_refused(ErrorCode::kPermission, "regular file");
  unlink(path_.c_str());
  expect_refused(ErrorCode::kUnavailable, "generate");
}

TEST_F(KeyFileTest, MalformedKeyIsReportedByLineAndNotPrinted) {
  for (const std::string& bad : {kOne.substr(1), kOne + "1", kOne.substr(1) + "g"}) {
    write(kOne + "\n" + bad + "\n");
    expect_refused(ErrorCode::kInvalid, "line 2");
    EXPECT_EQ(read_key_file(path_).error().message().find("1111"), std::string::npos);
  }
  write("# nothing yet\n");
  expect_refused(ErrorCode::kInvalid, "no key");
  std::string many;
  for (size_t i = 0; i <= kMostKeys; ++i) many += kOne + "\n";
  write(many);
  expect_refused(ErrorCode::kInvalid, "line 17");
  write(std::string(70'000, '#'));
  expect_refused(ErrorCode::kInvalid, "larger");
}

TEST_F(KeyFileTest, AGeneratedFileIsPrivateReadableAndNeverOverwritten) {
  const mode_t before = umask(0);
  const auto key = generate_key_file(path_);
  umask(before);
  ASSERT_TRUE(key) << key.error().message();
  struct stat is {};
  ASSERT_EQ(stat(path_.c_str(), &is), 0);
  EXPECT_EQ(is.st_mode & 07777, 0600U);
  const auto keys = read_key_file(path_);
  ASSERT_TRUE(keys) << keys.error().message();
  EXPECT_EQ(keys->front(), *key);
  const auto again = generate_key_file(path_);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kInUse);
  EXPECT_EQ(read_key_file(path_)->front(), *key);
}

TEST_F(KeyFileTest, IdsDifferBetweenKeysAndDoNotContainTheKey) {
  write(kOne + "\n" + kTwo + "\n");
  const auto keys = read_key_file(path_);
  ASSERT_TRUE(keys);
  const std::string first = id_text((*keys)[0]);
  EXPECT_EQ(first.size(), 16U);
  EXPECT_EQ(first, id_text((*keys)[0]));
  EXPECT_NE(first, id_text((*keys)[1]));
  EXPECT_EQ(kOne.find(first), std::string::npos);
}

}  // namespace
}  // namespace heddle::engine
