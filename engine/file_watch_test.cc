// Which changes of a folder FileWatch reports.
#include "engine/file_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/document.h"
#include "base/temporary_folder.h"

namespace heddle::engine {
namespace {

class FileWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<TemporaryFolder> made = TemporaryFolder::make("heddle-watch");
    ASSERT_TRUE(made.has_value());
    folder_ = std::move(*made);
  }
  std::string file(const std::string& name) const { return folder_.path() + "/" + name; }
  void replace(const std::string& name) {
    ASSERT_TRUE(replace_text_file(file(name), "text").has_value());
  }

  TemporaryFolder folder_;
};

TEST_F(FileWatchTest, AReplacedFileIsNoticedOnce) {
  FileWatch watch(file("plan.json"));
  ASSERT_TRUE(watch.watches());
  EXPECT_FALSE(watch.take_change());
  replace("plan.json");
  EXPECT_TRUE(watch.take_change());
  EXPECT_FALSE(watch.take_change());
  replace("plan.json");
  replace("plan.json");
  EXPECT_TRUE(watch.take_change());
  EXPECT_FALSE(watch.take_change());
}

TEST_F(FileWatchTest, AFileThatIsWrittenInPlaceIsNoticedOnceItIsClosed) {
  replace("plan.json");
  FileWatch watch(file("plan.json"));
  FILE* const open = std::fopen(file("plan.json").c_str(), "w");
  ASSERT_NE(open, nullptr);
  EXPECT_EQ(std::fputs("half", open), 1);
  std::fflush(open);
  EXPECT_FALSE(watch.take_change());
  std::fclose(open);
  EXPECT_TRUE(watch.take_change());
}

TEST_F(FileWatchTest, OtherFilesOfTheFolderDoNotCount) {
  FileWatch watch(file("plan.json"));
  for (int i = 0; i < 500; ++i) replace("plan.json.bak");
  replace("plan");
  EXPECT_FALSE(watch.take_change());
  ASSERT_EQ(std::rename(file("plan").c_str(), file("plan.json").c_str()), 0);
  EXPECT_TRUE(watch.take_change());
}

TEST_F(FileWatchTest, AFolderThatIsMissingIsNotWatched) {
  FileWatch watch(file("none/plan.json"));
  EXPECT_FALSE(watch.watches());
  EXPECT_FALSE(watch.take_change());
  FileWatch none;
  EXPECT_FALSE(none.take_change());
}

TEST_F(FileWatchTest, AFolderThatIsRemovedOrMovedIsReportedOnceAndWatchedNoMore) {
  for (const bool moved : {false, true}) {
    const std::string folder = file("plans");
    std::filesystem::create_directory(folder);
    FileWatch watch(folder + "/plan.json");
    ASSERT_TRUE(watch.watches());
    if (moved) {
      std::filesystem::rename(folder, file("old"));
    } else {
      std::filesystem::remove_all(folder);
    }
    EXPECT_TRUE(watch.take_change());
    EXPECT_FALSE(watch.watches());
    EXPECT_FALSE(watch.take_change());
  }
}

TEST_F(FileWatchTest, ANameWithoutAFolderIsInTheWorkingFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  FileWatch watch("plan.json");
  std::filesystem::current_path(before);
  replace("plan.json");
  EXPECT_TRUE(watch.take_change());
}

}  // namespace
}  // namespace heddle::engine
