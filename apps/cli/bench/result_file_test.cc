// Results of an earlier run stay; a run that fails leaves none.
#include "apps/cli/bench/result_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace heddle::cli {
namespace {

class ResultFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "heddle-result-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_F(ResultFiles, AnEarlierRunsResultsWereOverwritten) {
  for (const char* expected : {"out.json", "out.json.0", "out.json.1"}) {
    Result<ResultFile> file = ResultFile::take(path("out.json"), "-J");
    ASSERT_TRUE(file.has_value()) << file.error().message();
    EXPECT_EQ(file->path(), path(expected));
    ASSERT_TRUE(file->write(expected).has_value());
  }
  EXPECT_EQ(content(path("out.json")), "out.json");
  EXPECT_EQ(content(path("out.json.1")), "out.json.1");
}

TEST_F(ResultFiles, WhatWasNotWrittenIsRemoved) {
  {
    Result<ResultFile> taken = ResultFile::take(path("out.json"), "-J");
    ASSERT_TRUE(taken.has_value());
    EXPECT_TRUE(std::filesystem::exists(path("out.json")));
    const ResultFile moved = std::move(*taken);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(ResultFiles, AnErrorNamesTheOption) {
  const Result<ResultFile> file = ResultFile::take(path("no/such/out.json"), "-J");
  ASSERT_FALSE(file.has_value());
  EXPECT_NE(file.error().message().find("give another path with -J"), std::string::npos);
}

TEST_F(ResultFiles, APipeIsWrittenToAndStays) {
  Result<ResultFile> file = ResultFile::take("/dev/null", "-J");
  ASSERT_TRUE(file.has_value()) << file.error().message();
  EXPECT_EQ(file->path(), "/dev/null");
  EXPECT_TRUE(file->write("text").has_value());
  EXPECT_FALSE(std::filesystem::exists("/dev/null.0"));
}

}  // namespace
}  // namespace heddle::cli
