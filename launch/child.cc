// See child.h.
#include "launch/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/exec.h"
#include "base/interrupt.h"

namespace heddle::launch {
namespace {

std::atomic<pid_t>& child() {
  static std::atomic<pid_t> process{0};
  return process;
}

// What a terminal sends reaches the child without us.
void pass_on(int number, siginfo_t* sent, void* /*context*/) {
  const int before = errno;  // of the code that this handler interrupts
  const pid_t process = child().load();
  if (process > 0 && sent->si_code != SI_KERNEL) kill(process, number);
  errno = before;
}

constexpr std::array kPassed = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

// The signals that the parent of this program did not set to be ignored, as nohup does with SIGHUP.
const std::vector<int>& caught() {
  static const std::vector<int> numbers = [] {
    std::vector<int> some;
    for (const int number : kPassed) {
      struct sigaction before {};
      sigaction(number, nullptr, &before);
      if (before.sa_handler != SIG_IGN) some.push_back(number);
    }
    return some;
  }();
  return numbers;
}

// In the child. `report` closes once it is the program; else it gets the number of the error.
[[noreturn]] void become(const PreparedExec& program, const std::vector<int>& caught,
                         const sigset_t& mask, int report) {
  for (const int number : caught) signal(number, SIG_DFL);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  const int error = program.run();
  [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
  _exit(kOwnFailure);
}

// Why the program could not start, as errno has it; 0 once it runs.
int start_failure(int pipe) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(pipe, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

}  // namespace

ChildEnd run_child(const std::vector<std::string>& words,
                   const std::vector<std::string>& settings) {
  const std::string what = "cannot run " + words.front();
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) {
    return {kOwnFailure, Error{ErrorCode::kSystem, what, std::strerror(errno), "see `ulimit -n`"}};
  }
  // Signals wait until the child is known here, and until it has its own handling of them.
  sigset_t waiting;
  sigset_t mask;
  sigemptyset(&waiting);
  for (const int number : caught()) sigaddset(&waiting, number);
  sigprocmask(SIG_BLOCK, &waiting, &mask);
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO;
  for (const int number : caught()) sigaction(number, &action, nullptr);
  const PreparedExec program(words, settings);
  const pid_t process = fork();
  if (process == 0) become(program, caught(), mask, report[1]);
  child().store(std::max(process, 0));
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  close(report[1]);
  if (process < 0) {
    close(report[0]);
    return {kOwnFailure,
            Error{ErrorCode::kSystem, what, "no process can be made", "see `ulimit -u`"}};
  }
  const int error = start_failure(report[0]);
  close(report[0]);
  if (const int number = interrupted(); number != 0) kill(process, number);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  child().store(0);
  if (error != 0) {
    const ExecFailure failure = program.failure(error);
    return {failure.exit_status, failure.error};
  }
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), std::nullopt};
}

}  // namespace heddle::launch
