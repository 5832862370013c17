// A copy has the bytes and the holes of its source, and what cannot be read is an error.
#include "recordings/folders/data_copy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace heddle::recordings {
namespace {

namespace fs = std::filesystem;

class DataCopy : public testing::Test {
 protected:
  DataCopy() {
    std::string pattern = testing::TempDir() + "data_copy.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~DataCopy() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

std::string bytes_of(const std::string& file) {
  std::ifstream from(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), {}};
}

TEST_F(DataCopy, BytesAndHolesAreThoseOfTheSource) {
  std::ofstream(file("from")) << "begin";
  fs::resize_file(file("from"), 4 << 20);
  std::ofstream(file("from"), std::ios::app) << "end";
  fs::resize_file(file("from"), 8 << 20);
  ASSERT_TRUE(copy_data(file("from"), file("to")));
  EXPECT_EQ(bytes_of(file("to")), bytes_of(file("from")));
  struct stat status {};
  ASSERT_EQ(stat(file("to").c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 1 << 20);
}

TEST_F(DataCopy, AnEmptyFileAndOneOfHolesOnlyHaveNoDataAndNoError) {
  std::ofstream(file("from")).flush();
  EXPECT_TRUE(copy_data(file("from"), file("empty")));
  fs::resize_file(file("from"), 1 << 20);
  ASSERT_TRUE(copy_data(file("from"), file("holes")));
  EXPECT_EQ(fs::file_size(file("holes")), 1u << 20);
}

// Any error of lseek() once counted as the end: the copy was empty, without an error.
TEST_F(DataCopy, AnErrorOfSeekingIsNoEnd) {
  ASSERT_EQ(mkfifo(file("from").c_str(), 0600), 0);
  const Result<void> copied = copy_data(file("from"), file("to"));
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, ErrorCode::kSystem);
  EXPECT_NE(copied.error().what.find(file("from")), std::string::npos);
}

}  // namespace
}  // namespace heddle::recordings
