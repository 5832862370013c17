// Commands: what children read and write.
#include "acceptance/commands.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "acceptance/params.h"
#include "acceptance/testing/own_fabric.h"

namespace heddle::acceptance {
namespace {

CommandEnd end_of(Commands& commands, Commands::Id id) {
  commands.wait({id}, seconds(60), [] { return usleep(1'000) == 0; });
  return commands.result_of(id);
}

TEST(CommandsTest, AnInputThatIsLargerThanACommandLineIsReadWhole) {
  const OwnFabric fabric;
  Commands commands(fabric);
  const std::string input(4 << 20, 'x');  // a command line's word ends at 128 KiB
  const auto id = commands.start("host", {"wc", "-c"}, {.at = {}, .input = input});
  ASSERT_TRUE(id.has_value()) << id.error().message();
  const CommandEnd end = end_of(commands, *id);
  EXPECT_EQ(end.exit_status, 0) << end.errors;
  EXPECT_EQ(end.output, "4194304\n");
}

TEST(CommandsTest, AChildThatWritesWithoutEndIsEnded) {
  const OwnFabric fabric;
  Commands commands(fabric);
  const auto id = commands.start("host", {"yes"},
                                 {.at = {}, .input = {}, .most_output_bytes = size_t{1} << 20});
  ASSERT_TRUE(id.has_value()) << id.error().message();
  const CommandEnd end = end_of(commands, *id);
  EXPECT_FALSE(end.late);
  EXPECT_NE(end.exit_status, 0);
  EXPECT_TRUE(end.output.empty());
  EXPECT_EQ(complaint_of(end), "it wrote more than 1 MiB");
}

// Rows and pages once had lines of megabytes.
TEST(CommandsTest, AComplaintIsOneShortLine) {
  const OwnFabric fabric;
  Commands commands(fabric);
  const auto id = commands.start(
      "host", {"sh", "-c", "echo first >&2; yes x | head -c 3000000 | tr -d '\\n' >&2; exit 3"});
  ASSERT_TRUE(id.has_value()) << id.error().message();
  const CommandEnd end = end_of(commands, *id);
  EXPECT_EQ(end.exit_status, 3);
  EXPECT_GT(end.errors.size(), size_t{1} << 20);
  EXPECT_EQ(complaint_of(end), std::string(params::kMostText, 'x') + " [...]");
}

TEST(CommandsTest, AChildHereThatWritesWithoutEndIsEndedToo) {
  const OwnFabric fabric;
  Commands commands(fabric);
  const auto id = commands.start_here({"yes"}, {});
  ASSERT_TRUE(id.has_value()) << id.error().message();
  const CommandEnd end = end_of(commands, *id);
  EXPECT_FALSE(end.late);
  EXPECT_EQ(complaint_of(end), "it wrote more than 64 MiB");
}

// Counters that were written all day ended their own test: what had been read counted, too.
TEST(CommandsTest, OutputThatIsDroppedDoesNotCount) {
  const OwnFabric fabric;
  Commands commands(fabric);
  const auto id =
      commands.start("host", {"sh", "-c", "yes | head -c 700000; kill -STOP $$; echo end; seq 9"},
                     {.at = {}, .input = {}, .most_output_bytes = size_t{1} << 19});
  const auto fed = commands.start(
      "host", {"sh", "-c", "yes | head -c 500000; kill -STOP $$; yes | head -c 500000; echo end"},
      {.at = {}, .input = {}, .most_output_bytes = size_t{1} << 19});
  ASSERT_TRUE(id.has_value() && fed.has_value());
  while (!commands.is_stopped(*fed)) usleep(1'000);
  EXPECT_EQ(commands.output_of(*fed).size(), 500'000U);
  commands.drop_output(*fed, 499'998);
  EXPECT_EQ(commands.output_of(*fed), "y\n");
  EXPECT_EQ(commands.output_of(*fed, 499'999), "\n");
  commands.send_signal(*fed, SIGCONT);
  const CommandEnd end = end_of(commands, *fed);
  EXPECT_EQ(end.exit_status, 0) << end.errors;
  EXPECT_EQ(end.output.size(), 500'006U);
  EXPECT_EQ(commands.output_of(*fed, 999'998), "y\nend\n");
  EXPECT_NE(end_of(commands, *id).exit_status, 0) << "what nothing drops counts";
}

TEST(CommandsTest, ALineFitsAsAWholeAndIsLookedAtOnce) {
  const OwnFabric fabric;
  Commands commands(fabric);
  const auto id = commands.start("host", {"printf", "not ready\\nready\\nready"});
  ASSERT_TRUE(id.has_value()) << id.error().message();
  static_cast<void>(end_of(commands, *id));
  int looked_at = 0;
  const auto fits = [&](std::string_view line) { return ++looked_at > 0 && line == "ready"; };
  EXPECT_TRUE(commands.has_line(*id, fits));
  EXPECT_TRUE(commands.has_line(*id, fits));
  EXPECT_EQ(looked_at, 2);
}

}  // namespace
}  // namespace heddle::acceptance
