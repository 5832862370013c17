// Commands that run beside the program: results, limits, and nothing left behind.
#include "launch/background_command.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "base/temporary_folder.h"

namespace heddle::launch {
namespace {

CommandOptions shell(const std::string& text) {
  return {.words = {"/bin/sh", "-c", text}, .keep_output = true};
}

// The result, with a clock that stands still.
CommandResult result_of(const CommandOptions& options) {
  Result<BackgroundCommand> command = BackgroundCommand::start(options, {});
  EXPECT_TRUE(command) << command.error().message();
  for (;;) {
    if (const auto result = command->poll({})) return *result;
    usleep(1'000);
  }
}

TEST(BackgroundCommandTest, ItGetsItsInputAndItsOutputIsKept) {
  CommandOptions options = shell("cat; echo first >&2; echo 'why not' >&2; exit 3");
  options.input = "text\n";
  const CommandResult result = result_of(options);
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_EQ(result.output, "text\n");
  EXPECT_EQ(result.last_error, "why not");
  EXPECT_FALSE(result.timed_out);
}

TEST(BackgroundCommandTest, SettingsAreReadAtTheirDescriptor) {
  CommandOptions options = shell("cat /dev/fd/3; cat");
  options.settings = "secret\n";
  options.input = "text\n";
  EXPECT_EQ(result_of(options).output, "secret\ntext\n");
  EXPECT_NE(result_of(shell("cat <&3")).exit_status, 0);
}

TEST(BackgroundCommandTest, SocketsAndSecretsOfThisProgramAreNotPassedOn) {
  std::array<int, 2> open{};
  ASSERT_EQ(pipe(open.data()), 0);  // without O_CLOEXEC, as libraries make them
  for (const char* const name :
       {"HEDDLE_NATS_PASSWORD", "HEDDLE_NATS_TOKEN", "HEDDLE_CLICKHOUSE_PASSWORD"}) {
    setenv(name, "hunter2", 1);
  }
  const std::string listed = "for each in /proc/self/fd/*; do readlink $each; done; env";
  CommandOptions with_settings = shell("cat <&3 >/dev/null && " + listed);
  with_settings.settings = "text\n";
  for (const CommandOptions& options : {shell(listed), with_settings}) {
    const std::string output = result_of(options).output;
    const std::string made = "/proc/self/fd/" + std::to_string(open[0]);
    std::array<char, 64> name{};
    ASSERT_GT(readlink(made.c_str(), name.data(), name.size() - 1), 0);
    EXPECT_EQ(output.find(name.data()), std::string::npos) << output;
    EXPECT_EQ(output.find("hunter2"), std::string::npos) << output;
    EXPECT_NE(output.find("PATH="), std::string::npos) << output;
  }
  EXPECT_STREQ(getenv("HEDDLE_NATS_TOKEN"), "hunter2");
  for (const char* const name :
       {"HEDDLE_NATS_PASSWORD", "HEDDLE_NATS_TOKEN", "HEDDLE_CLICKHOUSE_PASSWORD"}) {
    unsetenv(name);
  }
  for (const int each : open) close(each);
}

TEST(BackgroundCommandTest, WordsAreNoShellText) {
  CommandOptions options{.words = {"/bin/echo", "$HOME; `id`"}, .keep_output = true};
  EXPECT_EQ(result_of(options).output, "$HOME; `id`\n");
}

TEST(BackgroundCommandTest, AProgramThatIsNotFoundHasTheStatusOfAShell) {
  CommandOptions options{.words = {"/nonexistent/program"}, .keep_output = true};
  const CommandResult result = result_of(options);
  EXPECT_EQ(result.exit_status, 127);
  EXPECT_NE(result.last_error.find("/nonexistent/program"), std::string::npos);
  EXPECT_EQ(result_of(shell("kill -TERM $$")).exit_status, 128 + SIGTERM);
}

TEST(BackgroundCommandTest, MuchOutputNeitherBlocksNorGrows) {
  const CommandResult result = result_of(shell("head -c 3000000 /dev/zero; echo end >&2"));
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.output.size(), size_t{1} << 20);
  EXPECT_EQ(result.last_error, "end");
}

class BackgroundProcessTest : public ::testing::Test {
 protected:
  // The process id that a command writes to the file.
  pid_t process() const {
    for (pid_t found = 0;; usleep(1'000)) {
      std::ifstream(file_) >> found;
      if (found > 0) return found;
    }
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make("heddle-background");
  const std::string file_ = folder_.path() + "/process";
};

TEST_F(BackgroundProcessTest, AtItsLimitItsWholeGroupEnds) {
  CommandOptions options = shell("sleep 1000 & echo $! > " + file_ + "; wait");
  options.limit = seconds(5);
  Result<BackgroundCommand> command = BackgroundCommand::start(options, seconds(1));
  ASSERT_TRUE(command);
  const pid_t sleeper = process();
  EXPECT_FALSE(command->poll(seconds(5)));
  const auto result = command->poll(seconds(6));
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->timed_out);
  while (kill(sleeper, 0) == 0) usleep(1'000);  // init reaps it
  EXPECT_FALSE(command->poll(seconds(7)));
}

TEST_F(BackgroundProcessTest, ChildrenInTheBackgroundEndWithTheCommand) {
  Result<BackgroundCommand> command =
      BackgroundCommand::start(shell("sleep 1000 & echo $! > " + file_ + "; exit 3"), {});
  ASSERT_TRUE(command);
  const pid_t sleeper = process();
  std::optional<CommandResult> result;
  while (!(result = command->poll({}))) usleep(1'000);
  EXPECT_EQ(result->exit_status, 3);
  while (kill(sleeper, 0) == 0) usleep(1'000);  // init reaps it
}

TEST_F(BackgroundProcessTest, ItEndsWithItsObject) {
  pid_t child = 0;
  {
    Result<BackgroundCommand> command =
        BackgroundCommand::start(shell("echo $$ > " + file_ + "; exec sleep 1000"), {});
    ASSERT_TRUE(command);
    child = process();
    EXPECT_EQ(kill(child, 0), 0);
  }
  EXPECT_NE(kill(child, 0), 0);
}

}  // namespace
}  // namespace heddle::launch
