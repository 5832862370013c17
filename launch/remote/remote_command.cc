// See remote_command.h. The remote shell's process has three descriptors: the pipe by which the
// agent is asked for the command and sent signals, this process' standard output, and a pipe for
// what it reports until the agent has greeted.
#include "launch/remote_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/descriptor.h"
#include "base/exec.h"
#include "lab/tool.h"
#include "launch/own_command.h"
#include "launch/remote/agent_lines.h"
#include "launch/remote/signal_queue.h"

namespace heddle::launch {
namespace {

// The end of a pipe that is to be read, and the other one.
struct Pipe {
  Descriptor read;
  Descriptor write;

  bool make() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
    return true;
  }
};

void write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(descriptor, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // the reader has gone
    text.remove_prefix(static_cast<size_t>(wrote));
  }
}

void report(const Error& error) {
  write_whole(STDERR_FILENO, fmt::format("heddle: {}\n", error.message()));
}

// The agent's command line there: a heddle that is in the PATH here is in the PATH there, another
// one at the same place.
std::vector<std::string> agent_words(const char* verb) {
  const std::string own = own_file();
  std::error_code none;
  const bool in_path = std::filesystem::equivalent(lab::find_program("heddle"), own, none);
  return {in_path ? "heddle" : own, verb};
}

std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

class Relay {
 public:
  Relay(const RemoteShell& shell, std::string host) : shell_(shell), host_(std::move(host)) {}

  int run(const RemoteCommand& command) {
    if (!signals_.valid() || !start()) {
      report({ErrorCode::kSystem, "cannot run anything on " + host_, std::strerror(errno),
              "see `ulimit -u` and `ulimit -n`"});
      return kOwnFailure;
    }
    std::error_code ignored;  // a folder that is gone is on no other machine either
    const std::string folder = std::filesystem::current_path(ignored).string();
    write_whole(orders_.write.number(), order_line({command, folder}));
    while (!status_) {
      std::array<pollfd, 2> watched = {
          {{signals_.descriptor(), POLLIN, 0}, {errors_.read.number(), POLLIN, 0}}};
      poll(watched.data(), watched.size(), -1);
      pass_errors();
      take_signals();
    }
    pass_errors();
    return finish();
  }

 private:
  bool start() {
    if (!orders_.make() || !errors_.make()) return false;
    fcntl(errors_.read.number(), F_SETFL, O_NONBLOCK);
    const std::vector<std::string> words = remote_words(shell_, host_, agent_words("agent"));
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0) become(words, parent);
    orders_.read = {};
    errors_.write = {};
    return process_ > 0;
  }

  // A signal for the whole group or tree of processes ends the command, not the way to it.
  [[noreturn]] void become(const std::vector<std::string>& words, pid_t parent) const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kOwnFailure);
    restore_signals();
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) signal(number, SIG_IGN);
    setsid();
    dup2(orders_.read.number(), STDIN_FILENO);
    dup2(errors_.write.number(), STDERR_FILENO);
    const ExecFailure failure = exec_program(words);
    write_whole(STDERR_FILENO, failure.error.message() + "\n");
    _exit(failure.exit_status);
  }

  void take_signals() {
    while (const std::optional<int> number = signals_.next()) {
      if (*number != SIGCHLD) {
        write_whole(orders_.write.number(), fmt::format("{}\n", *number));
        continue;
      }
      int status = 0;
      if (waitpid(process_, &status, WNOHANG) == process_) status_ = status;
    }
  }

  void pass_errors() {
    std::array<char, 16'384> piece{};
    for (;;) {
      const ssize_t got = read(errors_.read.number(), piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) errors_.read = {};  // poll() leaves out what is no descriptor
      if (got <= 0) return;
      const std::string_view text(piece.data(), static_cast<size_t>(got));
      if (greeted_) {
        write_whole(STDERR_FILENO, text);
      } else {
        before_ += text;
        look_for_greeting();
      }
    }
  }

  // What the remote shell and the other machine's own shell report comes before it.
  void look_for_greeting() {
    const std::string line = std::string(kGreeting) + "\n";
    size_t at = before_.find(line);
    while (at != std::string::npos && at > 0 && before_[at - 1] != '\n') {
      at = before_.find(line, at + 1);
    }
    if (at == std::string::npos) return;
    greeted_ = true;
    write_whole(STDERR_FILENO, before_.erase(at, line.size()));
    before_.clear();
  }

  int finish() const {
    const int status = status_.value_or(0);
    const int ended = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (greeted_) return ended;
    std::string why = last_line(before_);
    if (why.empty()) why = fmt::format("{} ended with {}", shell_.words.front(), ended);
    const std::string tried = shell_line(remote_words(shell_, host_, agent_words("--version")));
    report({ErrorCode::kUnavailable, "cannot start anything on " + host_, why,
            fmt::format("this has to work: {}", tried)});
    return kOwnFailure;
  }

  const RemoteShell& shell_;
  std::string host_;
  SignalQueue signals_;
  Pipe orders_;
  Pipe errors_;
  pid_t process_ = -1;
  std::optional<int> status_;
  std::string before_;  // the greeting
  bool greeted_ = false;
};

}  // namespace

std::vector<std::string> settings_for_others() {
  constexpr std::array<std::string_view, 6> kTorchrun = {
      "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "LOCAL_WORLD_SIZE=", "MASTER_ADDR=", "MASTER_PORT="};
  std::vector<std::string> settings;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view setting = *each;
    const auto begins = [&](std::string_view name) { return setting.rfind(name, 0) == 0; };
    if (begins("HEDDLE_LAB=")) continue;  // of this machine
    if (begins("HEDDLE_") || std::any_of(kTorchrun.begin(), kTorchrun.end(), begins)) {
      settings.emplace_back(setting);
    }
  }
  return settings;
}

int run_remote(const RemoteShell& shell, const std::string& host, const RemoteCommand& command) {
  return Relay(shell, host).run(command);
}

}  // namespace heddle::launch
