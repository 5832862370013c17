// See run.h. The terminal's Ctrl-C reaches the command directly; SIGTERM and SIGHUP are forwarded.
// A command that ignores them is killed after five seconds, or immediately by a second signal.
#include "lab/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/exec.h"
#include "lab/params.h"
#include "lab/processes.h"

namespace heddle::lab {
namespace {

std::atomic<int>& first_signal() {
  static std::atomic<int> number{0};
  return number;
}

std::atomic<int>& signal_count() {
  static std::atomic<int> count{0};
  return count;
}

void note(int number) {
  int none = 0;
  first_signal().compare_exchange_strong(none, number);
  signal_count().fetch_add(1);
}

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

[[noreturn]] void become(const Lab& lab, const std::vector<std::string>& words, int report) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (const int number : kSignals) signal(number, SIG_DFL);
  setenv("HEDDLE_LAB", lab.state.name.c_str(), 1);
  const ExecFailure failure = exec_program(words);
  const std::string& why = failure.error.why;
  const ssize_t written = write(report, why.data(), why.size());
  _exit(written < 0 ? kExecFailed : failure.exit_status);
}

// Returns why the command could not start; empty once it runs.
std::string start_failure(int pipe) {
  std::array<char, 256> text{};
  ssize_t got = 0;
  do {
    got = read(pipe, text.data(), text.size());
  } while (got < 0 && errno == EINTR);
  close(pipe);
  return got > 0 ? std::string(text.data(), static_cast<size_t>(got)) : "";
}

// Reports a forwarder that has died, once.
class ForwarderWatch {
 public:
  ForwarderWatch(const LabState& state, const std::function<void(const std::string&)>& warn)
      : state_(state), warn_(warn) {}

  void look() {
    if (reported_) return;
    const std::string trouble = forwarder_trouble(state_);
    if (trouble.empty()) return;
    reported_ = true;
    warn_(trouble);
  }

 private:
  const LabState& state_;
  const std::function<void(const std::string&)>& warn_;
  bool reported_ = false;
};

// Waits for the command, passing signals on.
int wait_for(pid_t command, ForwarderWatch watch) {
  int passed_on = 0;
  int waited_ms = 0;
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, command, 0));
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(command, &status, WNOHANG);
    watch.look();
    if (ended == command) {
      if (descriptor >= 0) close(descriptor);
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    const int signals = signal_count().load();
    if (signals > passed_on) {
      if (passed_on > 0 || noted_signal() != SIGINT) kill(command, noted_signal());
      if (passed_on > 0) waited_ms = params::kGraceMs;
      passed_on = signals;
    }
    if (passed_on > 0 && waited_ms >= params::kGraceMs) kill(command, SIGKILL);
    pollfd wait{descriptor, POLLIN, 0};
    const int timeout_ms = passed_on > 0 ? 50 : 500;
    poll(&wait, descriptor >= 0 ? 1 : 0, timeout_ms);
    if (passed_on > 0) waited_ms += timeout_ms;
  }
}

void end_descendants() {
  for (int round = 0; round < 300; ++round) {
    const std::vector<pid_t> left = descendants();
    if (left.empty()) return;
    for (const pid_t process : left) kill(process, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    usleep(2'000);
  }
}

}  // namespace

void note_signals() {
  static_cast<void>(first_signal());  // initialize these before a handler uses them
  static_cast<void>(signal_count());
  struct sigaction action {};
  action.sa_handler = note;
  for (const int number : kSignals) sigaction(number, &action, nullptr);
}

int noted_signal() { return first_signal().load(); }

CommandEnd run_command(const Lab& lab, const std::vector<std::string>& words,
                       const std::function<void(const std::string&)>& warn) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what the command leaves behind becomes ours, to be ended
  std::array<int, 2> report{};
  const std::string what = "cannot run " + words.front();
  const auto own_failure = [&what](const char* todo) {
    return CommandEnd{kOwnFailure, Error{ErrorCode::kSystem, what, std::strerror(errno), todo}};
  };
  if (pipe2(report.data(), O_CLOEXEC) != 0) return own_failure("see `ulimit -n`");
  const pid_t command = fork();
  if (command == 0) become(lab, words, report[1]);
  close(report[1]);
  if (command < 0) return own_failure("see `ulimit -u`");
  const std::string failure = start_failure(report[0]);
  const int status = wait_for(command, {lab.state, warn});
  end_descendants();
  if (failure.empty()) return {status, std::nullopt};
  return {status, Error{ErrorCode::kUnavailable, what, failure,
                        "give a program that is installed, with its path if it is not on PATH"}};
}

}  // namespace heddle::lab
