// Tables on disk: read as they were written, and never taken from a file that is damaged, of
// another fabric or of another user.
#include "collectives/table_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace heddle::collectives {
namespace {

class TableFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "heddle_tables_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Tuning measured(uint64_t seed) {
    Tuning tuning{.latency_ns = static_cast<uint32_t>(seed + 1)};
    tuning.costs.ranks = 4;
    for (auto& row : tuning.costs.ns) {
      for (uint64_t& ns : row) ns = ++seed * 1000;
    }
    return tuning;
  }
  std::string path() const { return table_path(folder_ + "/deeper/tuning", fabric_); }
  Result<void> write(const Tuning& tuning) const {
    return write_table(path(), fabric_, tuning, TableSource::kTune);
  }
  ErrorCode error() const { return read_table(path(), fabric_, Tuning()).error().code; }
  std::string text() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put(const std::string& text) const { std::ofstream(path()) << text; }

  std::string folder_;
  Fabric fabric_ = {"ranks 4 hosts 2: 0 0 1 1\nlink 25000 Mbit/s\n", true};
};

TEST_F(TableFile, IsReadAsItWasWritten) {
  Tuning start = {.chunk_bytes = 70'000, .to_be_measured = true};
  ASSERT_TRUE(write(measured(1)));
  const Tuning read = read_table(path(), fabric_, start).value();
  EXPECT_EQ(read.costs, measured(1).costs);
  EXPECT_EQ(read.latency_ns, measured(1).latency_ns);
  EXPECT_EQ(read.chunk_bytes, 70'000U);
  EXPECT_FALSE(read.to_be_measured);
}

TEST_F(TableFile, IsForItsOwnerOnly) {
  ASSERT_TRUE(write(measured(1)));
  struct stat about {};
  ASSERT_EQ(stat(path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((folder_ + "/deeper/tuning").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700U);
}

TEST_F(TableFile, ThatIsNotThereIsUnavailable) { EXPECT_EQ(error(), ErrorCode::kUnavailable); }

TEST_F(TableFile, ThatWasCutShortOrChangedIsRefused) {
  ASSERT_TRUE(write(measured(1)));
  const std::string whole = text();
  for (size_t length = 0; length < whole.size(); length += 37) {
    put(whole.substr(0, length));
    EXPECT_EQ(error(), ErrorCode::kInvalid) << length;
  }
  for (size_t at = 0; at < whole.size(); at += 41) {
    std::string changed = whole;
    changed[at] ^= 1;
    put(changed);
    EXPECT_EQ(error(), ErrorCode::kInvalid) << at;
  }
}

TEST_F(TableFile, OfAnotherFabricIsRefused) {
  ASSERT_TRUE(write(measured(1)));
  const Fabric other = {"ranks 8 hosts 2: 0 0 0 0 1 1 1 1\n", true};
  EXPECT_NE(table_path(folder_, other), table_path(folder_, fabric_));
  EXPECT_EQ(read_table(path(), other, Tuning()).error().code, ErrorCode::kInvalid);
}

TEST_F(TableFile, ThatOthersMayWriteToIsRefused) {
  ASSERT_TRUE(write(measured(1)));
  for (const mode_t mode : {0620U, 0602U}) {
    ASSERT_EQ(chmod(path().c_str(), mode), 0);
    EXPECT_EQ(error(), ErrorCode::kPermission);
  }
  ASSERT_EQ(chmod(path().c_str(), 0644), 0);
  EXPECT_TRUE(read_table(path(), fabric_, Tuning()));
}

TEST_F(TableFile, OfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "giving a file away needs root";
  ASSERT_TRUE(write(measured(1)));
  ASSERT_EQ(chown(path().c_str(), 4711, 4711), 0);
  EXPECT_EQ(error(), ErrorCode::kPermission);
}

TEST_F(TableFile, ThatIsALinkIsRefused) {
  ASSERT_TRUE(write(measured(1)));
  std::filesystem::rename(path(), folder_ + "/elsewhere");
  std::filesystem::create_symlink(folder_ + "/elsewhere", path());
  EXPECT_FALSE(read_table(path(), fabric_, Tuning()));
}

TEST_F(TableFile, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_ + "/file") << "x";
  const std::string below = table_path(folder_ + "/file/tuning", fabric_);
  EXPECT_FALSE(write_table(below, fabric_, measured(1), TableSource::kShort));
}

// Each writes a table of its own; a reader sees one of them whole, and nothing else stays behind.
// Programs of users without a home (HOME=/nonexistent) created one, as root.
TEST(TableFolder, IsBelowAHomeThatExistsOnly) {
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs
  const char* const before = std::getenv("HOME");
  const std::string home = before == nullptr ? "" : before;
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/no/such/home", 1);
  EXPECT_EQ(default_table_folder(), "");
  setenv("HOME", "/tmp", 1);
  EXPECT_EQ(default_table_folder(), "/tmp/.cache/heddle/tuning");
  setenv("HOME", home.c_str(), 1);
  // NOLINTEND(concurrency-mt-unsafe)
}

TEST_F(TableFile, ManyWritersAtOnceLeaveOneWholeTable) {
  ASSERT_TRUE(write(measured(0)));
  std::vector<std::thread> writers;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    writers.emplace_back([this, seed] {
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(write(measured(seed * 1000)));
    });
  }
  for (int i = 0; i < 200; ++i) {
    const Result<Tuning> read = read_table(path(), fabric_, Tuning());
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ((read->costs.ns[0][0] - 1000) % 1'000'000, 0U);
  }
  for (std::thread& writer : writers) writer.join();
  const std::filesystem::directory_iterator files(folder_ + "/deeper/tuning");
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

}  // namespace
}  // namespace heddle::collectives
