// Rows survive, half a line counts for nothing and is written over, and shares merge.
#include "apps/cli/sim/sweep/results.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace heddle::cli {
namespace {

using nlohmann::json;
using testing::EndsWith;

class SweepResultsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string made = testing::TempDir() + "sweep.XXXXXX";
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    folder_ = made;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static json row(int number) {
    return {{"key", std::to_string(number)}, {"vary", json::object()}, {"number", number}};
  }
  void append(const std::string& file, const std::string& text) const {
    std::ofstream(folder_ + "/" + file, std::ios::app) << text;
  }
  std::vector<int> numbers() const {
    std::vector<int> all;
    const SweepRows read = read_sweep({folder_}).value();
    for (const json& each : read.rows) all.push_back(each["number"]);
    return all;
  }

  std::string folder_;
};

TEST_F(SweepResultsTest, AFolderThatIsNotThereHoldsNothing) {
  const auto read = read_sweep({folder_ + "/none"});
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->rows.empty());
}

TEST_F(SweepResultsTest, HalfALineCountsForNothingAndIsWrittenOver) {
  {
    const auto writer = SweepWriter::open(folder_, {}).value();
    ASSERT_TRUE(writer->add(row(1)));
  }
  append("share_1_of_1.jsonl", R"({"key":"2","vary":{},"num)");
  EXPECT_EQ(numbers(), std::vector<int>{1});
  const auto writer = SweepWriter::open(folder_, {}).value();
  ASSERT_TRUE(writer->add(row(3)));
  EXPECT_EQ(numbers(), (std::vector<int>{1, 3}));
  EXPECT_EQ(read_sweep({folder_})->unreadable, 0u);
}

TEST_F(SweepResultsTest, SharesMergeAndEachRunCountsOnce) {
  const auto first = SweepWriter::open(folder_, {0, 2}).value();
  const auto second = SweepWriter::open(folder_, {1, 2}).value();
  ASSERT_TRUE(first->add(row(1)));
  ASSERT_TRUE(second->add(row(2)));
  ASSERT_TRUE(second->add(row(1)));
  EXPECT_EQ(numbers(), (std::vector<int>{1, 2}));
}

TEST_F(SweepResultsTest, AShareIsOneSweepsAtATime) {
  const auto writer = SweepWriter::open(folder_, {0, 2}).value();
  const auto again = SweepWriter::open(folder_, {0, 2});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kInUse);
  EXPECT_TRUE(SweepWriter::open(folder_, {1, 2}));
}

TEST_F(SweepResultsTest, LinesThatAreNoResultsAreCounted) {
  append("other.jsonl", "{\"key\":1}\nnothing\n\n[]\n");
  append("notes.txt", "nothing\n");
  EXPECT_EQ(read_sweep({folder_})->unreadable, 4u);
}

TEST_F(SweepResultsTest, AFileWhereAFolderShouldBeIsTold) {
  append("file", "");
  const auto read = read_sweep({folder_ + "/file"});
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, EndsWith("/file"));
  EXPECT_FALSE(SweepWriter::open(folder_ + "/file", {}));
}

}  // namespace
}  // namespace heddle::cli
