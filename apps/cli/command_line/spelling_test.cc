// Which known word is suggested for an unknown one.
#include "apps/cli/command_line/spelling.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

TEST(EditDistance, CountsInsertionsRemovalsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("ping", "ping"), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("ping", "pings"), 1u);
  EXPECT_EQ(edit_distance("ping", "pong"), 1u);
  EXPECT_EQ(edit_distance("pnig", "ping"), 1u);
  EXPECT_EQ(edit_distance("matrix", "metrics"), 3u);
}

const std::vector<std::string> kCommands = {"ping", "perf", "bench", "paths", "run", "record"};

TEST(Nearest, FindsTheWordWithATypo) {
  EXPECT_EQ(nearest("pong", kCommands), "ping");
  EXPECT_EQ(nearest("recrod", kCommands), "record");
  EXPECT_EQ(nearest("path", kCommands), "paths");
}

TEST(Nearest, FindsTheWordOfWhichTheBeginningWasWritten) {
  EXPECT_EQ(nearest("rec", kCommands), "record");
  EXPECT_EQ(nearest("--rank", {"--hosts", "--ranks"}), "--ranks");
}

TEST(Nearest, IgnoresDashesInFront) {
  EXPECT_EQ(nearest("-json", {"--hosts", "--json"}), "--json");
}

TEST(Nearest, FindsNothingForAWordThatIsFarFromAll) {
  EXPECT_EQ(nearest("frobnicate", kCommands), "");
  EXPECT_EQ(nearest("", kCommands), "");
  EXPECT_EQ(nearest("-x", {"-v", "-p"}), "");
}

}  // namespace
}  // namespace heddle::cli
