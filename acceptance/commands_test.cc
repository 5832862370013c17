// Commands: what children read and write.
#include "acceptance/commands.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "acceptance/testing/own_fabric.h"

namespace heddle::acceptance {
namespace {

CommandEnd end_of(Commands& commands, Commands::Id id) {
  commands.wait({id}, seconds(30), [] { return usleep(1'000) == 0; });
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
