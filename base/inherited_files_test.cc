// Tests of inherited_files.h, in forked processes, whose descriptors are theirs.
#include "base/inherited_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/testing/refused_call.h"

namespace heddle {
namespace {

constexpr int kLow = 100;
constexpr int kFirst = 101;
constexpr int kHigh = 200;

// Runs `check` in a forked process that has kLow, kFirst and kHigh open; false: `check` was.
template <typename Check>
bool holds_in_child(Check check) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int file : {kLow, kFirst, kHigh}) dup2(STDERR_FILENO, file);
    _exit(check() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && status == 0;
}

TEST(InheritedFiles, ThoseFromTheFirstOnAreClosed) {
  EXPECT_TRUE(holds_in_child([] {
    close_files_from(kFirst);
    return fcntl(kLow, F_GETFD) == 0 && fcntl(kFirst, F_GETFD) < 0 && fcntl(kHigh, F_GETFD) < 0;
  }));
}

TEST(InheritedFiles, ThoseFromTheFirstOnAreMarkedAndStayOpen) {
  EXPECT_TRUE(holds_in_child([] {
    close_files_on_exec_from(kFirst);
    return fcntl(kLow, F_GETFD) == 0 && fcntl(kFirst, F_GETFD) == FD_CLOEXEC &&
           fcntl(kHigh, F_GETFD) == FD_CLOEXEC;
  }));
}

// As a kernel before Linux 5.9 does: from then on close_range(2) fails in this process.
bool refuse_close_range() {
  return refuse_call(__NR_close_range, ENOSYS) && syscall(__NR_close_range, kHigh, kHigh, 0) != 0;
}

TEST(InheritedFiles, OnOlderKernelsTooTheyAreClosedOrMarked) {
  if (!holds_in_child(refuse_close_range)) GTEST_SKIP() << "seccomp filters do not work here";
  EXPECT_TRUE(holds_in_child([] {
    if (!refuse_close_range()) return false;
    close_files_on_exec_from(kFirst);
    const bool marked = fcntl(kLow, F_GETFD) == 0 && fcntl(kHigh, F_GETFD) == FD_CLOEXEC;
    close_files_from(kFirst);
    return marked && fcntl(kLow, F_GETFD) == 0 && fcntl(kHigh, F_GETFD) < 0;
  }));
}

}  // namespace
}  // namespace heddle
