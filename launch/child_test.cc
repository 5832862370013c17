// A program's only child: its environment, its exit status, and a start beside other threads.
#include "launch/child.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/exec.h"
#include "base/thread.h"

namespace heddle::launch {
namespace {

TEST(ChildTest, SettingsReplaceVariablesAndTheOthersStay) {
  setenv("HEDDLE_TEST_KEPT", "kept", 1);
  setenv("HEDDLE_TEST_REPLACED", "old", 1);
  const std::string check =
      "test \"$HEDDLE_TEST_KEPT $HEDDLE_TEST_REPLACED\" = 'kept new=new' && "
      "test $(env | grep -c HEDDLE_TEST_REPLACED) = 1 && exit 7";
  const ChildEnd ended = run_child({"sh", "-c", check}, {"HEDDLE_TEST_REPLACED=new=new"});
  EXPECT_EQ(ended.exit_status, 7);
  EXPECT_FALSE(ended.failure);
}

TEST(ChildTest, ProgramsThatCannotRunAreFailuresWithTheStatusOfEnv) {
  const ChildEnd missing = run_child({"/nonexistent/program"}, {});
  EXPECT_EQ(missing.exit_status, kNotFound);
  ASSERT_TRUE(missing.failure);
  EXPECT_EQ(missing.failure->what, "cannot run /nonexistent/program");
  EXPECT_EQ(missing.failure->why, "No such file or directory");
  EXPECT_EQ(run_child({"/"}, {}).exit_status, kExecFailed);
}

// A child between fork() and exec() waited for ever for the allocator's lock, which a thread of the
// parent had at fork(): seen with AddressSanitizer's, which glibc's fork() does not know.
TEST(ChildTest, AChildStartsWhileOtherThreadsTakeMemory) {
  std::atomic<bool> over = false;
  std::vector<Thread> threads;
  for (int i = 0; i < 2; ++i) {
    Result<Thread> made = start_thread("memory", [&over] {
      while (!over.load()) const std::vector<std::string> kept(10'000, std::string(30, 'x'));
    });
    ASSERT_TRUE(made) << made.error().message();
    threads.push_back(std::move(*made));
  }
  for (int i = 0; i < 100; ++i) {
    std::vector<std::string> settings;
    for (int j = 0; j < 100; ++j) settings.push_back(fmt::format("{:_>30}={:030}", j, j));
    EXPECT_EQ(run_child({"true"}, settings).exit_status, 0);
  }
  over.store(true);
  for (Thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace heddle::launch
