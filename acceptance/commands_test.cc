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

}  // namespace
}  // namespace heddle::acceptance
