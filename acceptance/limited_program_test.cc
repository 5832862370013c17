// Programs that end by themselves, too late, or with the caller; none leaves a process.
#include "acceptance/limited_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "lab/processes.h"

namespace heddle::acceptance {
namespace {

LimitedProgram shell(const std::string& script, Nanos limit = seconds(60)) {
  return {{"sh", "-c", script}, {{"WORD", "given"}}, limit, [] { return false; }};
}

TEST(LimitedProgram, ThatFailsHasItsStatusAndLastLine) {
  const ProgramEnd end = run_limited(shell("echo one >&2; echo $WORD >&2; echo; exit 3")).value();
  EXPECT_EQ(end.exit_status, 3);
  EXPECT_EQ(end.last_line, "given");
  EXPECT_FALSE(end.late || end.interrupted);
  EXPECT_EQ(run_limited(shell("kill -9 $$")).value().exit_status, 137);
}

TEST(LimitedProgram, ThatDoesNotExistEndsWith127) {
  const ProgramEnd end =
      run_limited({{"/nonexistent"}, {}, seconds(60), [] { return false; }}).value();
  EXPECT_EQ(end.exit_status, 127);
  EXPECT_THAT(end.last_line, testing::HasSubstr("No such file"));
}

TEST(LimitedProgram, ThatTakesTooLongEndsWithAllItStarted) {
  const ProgramEnd end =
      run_limited(shell("trap '' TERM INT; sleep 1000 & setsid sleep 1000 & wait", millis(100)))
          .value();
  EXPECT_TRUE(end.late);
  EXPECT_TRUE(lab::descendants().empty());
}

TEST(LimitedProgram, EndsWhenTheCallerIsInterrupted) {
  LimitedProgram program = shell("sleep 1000 & sleep 1000");
  int asked = 0;
  program.interrupted = [&asked] { return ++asked == 2; };
  EXPECT_TRUE(run_limited(program).value().interrupted);
  EXPECT_TRUE(lab::descendants().empty());
}

TEST(LimitedProgram, LeavesNothingThatWentToTheBackground) {
  EXPECT_EQ(run_limited(shell("setsid sleep 1000 & exit 0")).value().exit_status, 0);
  EXPECT_TRUE(lab::descendants().empty());
}

TEST(LimitedProgram, LeavesTheCallersOtherChildrenAlone) {
  const pid_t other = fork();
  if (other == 0) {
    pause();
    _exit(1);
  }
  EXPECT_EQ(run_limited(shell("sleep 1000 & exit 0")).value().exit_status, 0);
  EXPECT_EQ(lab::descendants(), std::vector<pid_t>{other});
  kill(other, SIGTERM);
  int status = 0;
  EXPECT_EQ(waitpid(other, &status, 0), other);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

}  // namespace
}  // namespace heddle::acceptance
