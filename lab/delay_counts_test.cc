// The forwarder's counters: other processes read them while it runs and after it has ended.
#include "lab/delay_counts.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace heddle::lab {
namespace {

TEST(DelayCountsTest, OtherReadersSeeTheCountsAndRemovalOfTheFileIsDetected) {
  const std::string path = testing::TempDir() + "heddle_delay_counts";
  {
    Result<DelayCountsFile> file = DelayCountsFile::create(path, 2);
    ASSERT_TRUE(file);
    file->store(1, {.packets = 7, .bytes = 900, .dropped = 3, .latest_ns = 5'000});
    EXPECT_FALSE(file->is_removed());
    ASSERT_EQ(read_delay_counts(path).size(), 2u);
    EXPECT_EQ(read_delay_counts(path)[0].packets, 0u);
  }
  EXPECT_EQ(read_delay_counts(path)[1].packets, 7u);
  EXPECT_EQ(read_delay_counts(path)[1].dropped, 3u);
  EXPECT_EQ(read_delay_counts(path)[1].latest_ns, 5'000u);
  Result<DelayCountsFile> file = DelayCountsFile::create(path, 2);
  std::filesystem::remove(path);
  EXPECT_TRUE(file->is_removed());
  EXPECT_TRUE(read_delay_counts(path).empty());
  EXPECT_FALSE(DelayCountsFile::create("/nonexistent/heddle", 1));
}

}  // namespace
}  // namespace heddle::lab
