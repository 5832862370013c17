// Store files: written atomically; stale, foreign and malformed ones are distinguished.
#include "collectives/rendezvous/store_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "engine/addresses.h"

namespace heddle::collectives {
namespace {

class StoreFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = testing::TempDir() + "heddle-store-XXXXXX";
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    folder_ = made;
    path_ = made + "/store";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) const { std::ofstream(path_) << text; }

  std::string folder_;
  std::string path_;
  const StoreFile file_ = {.ticket = 0x1234,
                           .run = "a run",
                           .addresses = {*engine::find_address("10.0.0.1:5", 0),
                                         *engine::find_address("[fd00::1]:5", 0)}};
};

TEST_F(StoreFileTest, IsReadAsItWasWritten) {
  ASSERT_TRUE(write_store_file(path_, file_));
  const Result<StoreFile> read = read_store_file(path_, "a run");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->ticket, 0x1234U);
  EXPECT_EQ(read->addresses, file_.addresses);
}

TEST_F(StoreFileTest, TheTicketIsForItsOwnerOnly) {
  const mode_t before = umask(0);
  ASSERT_TRUE(write_store_file(path_, file_));
  umask(before);
  struct stat about {};
  ASSERT_EQ(lstat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600U);
}

TEST_F(StoreFileTest, ALinkThatSomebodyLaidThereIsNotFollowed) {
  const std::string elsewhere = folder_ + "/elsewhere";
  ASSERT_TRUE(write_store_file(elsewhere, file_));
  std::filesystem::create_symlink(elsewhere, path_);
  EXPECT_FALSE(read_store_file(path_, "a run"));
  StoreFile next = file_;
  next.ticket = 0x99;
  ASSERT_TRUE(write_store_file(path_, next));  // takes the link's place
  EXPECT_EQ(read_store_file(elsewhere, "a run")->ticket, file_.ticket);
  EXPECT_EQ(read_store_file(path_, "a run")->ticket, 0x99U);
}

TEST_F(StoreFileTest, TakesThePlaceOfALeftOverOne) {
  ASSERT_TRUE(write_store_file(path_, file_));
  StoreFile next = file_;
  next.ticket = 0x99;
  ASSERT_TRUE(write_store_file(path_, next));
  EXPECT_EQ(read_store_file(path_, "a run")->ticket, 0x99U);
  const auto entries = std::filesystem::directory_iterator(folder_);
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 1) << "no temporary file stays";
}

TEST_F(StoreFileTest, IsRemovedOnlyByTheStoreThatWroteIt) {
  ASSERT_TRUE(write_store_file(path_, file_));
  remove_store_file(path_, 0x99);
  EXPECT_TRUE(std::filesystem::exists(path_));
  remove_store_file(path_, file_.ticket);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(StoreFileTest, AnUnusableFileIsRefusedWithTheReason) {
  EXPECT_EQ(read_store_file(path_, "a run").error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(write_store_file(path_, file_));
  EXPECT_NE(read_store_file(path_, "other").error().why.find("'a run'"), std::string::npos);
  for (const char* text : {"", "\n", "heddle store 1", "heddle store 1\nticket 5\nrun a run\n",
                           "heddle store 1\nrun a run\nat 10.0.0.1:5\n",
                           "heddle store 1\nticket xyz\nrun a run\nat 10.0.0.1:5\n",
                           "heddle store 2\nticket 5\nrun a run\nat 10.0.0.1:5\n"}) {
    write(text);
    const Result<StoreFile> read = read_store_file(path_, "a run");
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalid) << text;
  }
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(read_store_file(path_, "a run"));
  EXPECT_FALSE(write_store_file(path_, file_));
  EXPECT_EQ(write_store_file(folder_ + "/none/store", file_).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace heddle::collectives
