// See child.h.
#include "apps/cli/record/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace heddle::cli {
namespace {

std::atomic<pid_t>& child() {
  static std::atomic<pid_t> process{0};
  return process;
}

// What a terminal sends reaches the child without us.
void pass_on(int number, siginfo_t* told, void* /*context*/) {
  const pid_t process = child().load();
  if (process > 0 && told->si_code != SI_KERNEL) kill(process, number);
}

constexpr std::array kPassed = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

// Those that whoever started this program does not want ignored, as nohup wants SIGHUP.
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

[[noreturn]] void become(const std::vector<std::string>& words,
                         const std::vector<std::string>& settings, int report) {
  for (const int number : caught()) signal(number, SIG_DFL);
  for (const std::string& setting : settings) {
    const size_t at = setting.find('=');
    setenv(setting.substr(0, at).c_str(), setting.substr(at + 1).c_str(), 1);
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  static_cast<void>(write(report, &error, sizeof error));
  _exit(127);
}

// Nothing is written where the program runs: the pipe closes with that.
int start_error(int pipe) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(pipe, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

}  // namespace

Result<int> run_child(const std::vector<std::string>& words,
                      const std::vector<std::string>& settings) {
  const std::string what = "cannot run " + words.front();
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::kSystem, what, std::strerror(errno), "see `ulimit -n`");
  }
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO;
  for (const int number : caught()) sigaction(number, &action, nullptr);
  const pid_t process = fork();
  if (process == 0) become(words, settings, report[1]);
  const int fork_error = errno;
  close(report[1]);
  child().store(process);
  const int error = process < 0 ? fork_error : start_error(report[0]);
  close(report[0]);
  int status = 0;
  while (process > 0 && waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  child().store(0);
  if (error == 0) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  const ErrorCode code = error == EACCES   ? ErrorCode::kPermission
                         : error == ENOENT ? ErrorCode::kUnavailable
                                           : ErrorCode::kSystem;
  return fail(code, what, std::strerror(error),
              "give a program that is installed, with its path if it is not on PATH");
}

}  // namespace heddle::cli
