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

#include "base/clocks.h"
#include "base/descriptor.h"
#include "base/exec.h"
#include "base/version.h"
#include "base/write_all.h"
#include "lab/tool.h"
#include "launch/own_command.h"
#include "launch/params.h"
#include "launch/remote/agent_lines.h"
#include "launch/remote/pipe.h"
#include "launch/remote/signal_queue.h"

namespace heddle::launch {
namespace {

void report(const Error& error) {
  write_all(STDERR_FILENO, fmt::format("heddle: {}\n", error.message()));
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
    std::error_code none;  // a folder that is gone is on no other machine either
    const std::string folder =
        command.same_folder ? std::filesystem::current_path(none).string() : std::string();
    const Result<std::string> order =
        order_line({command, folder, command.start_at - wall_now() + params::kStartSlack});
    if (!order) {
      report(order.error());
      return kOwnFailure;
    }
    for (int tries = 0; tries < params::kLogins; ++tries) {
      if (!signals_.valid() || !start(*order)) {
        report({ErrorCode::kSystem, "cannot run anything on " + host_, std::strerror(errno),
                "see `ulimit -u` and `ulimit -n`"});
        return kOwnFailure;
      }
      while (!status_) look();
      pass_errors();
      if (greeted_ || signaled_ || !was_turned_away()) break;
      usleep(static_cast<useconds_t>(wait_before_again(tries) / micros(1)));
    }
    return finish();
  }

 private:
  bool start(const std::string& order) {
    orders_ = {};
    errors_ = {};
    status_.reset();
    before_.clear();
    if (!orders_.make() || !errors_.make()) return false;
    fcntl(errors_.read.number(), F_SETFL, O_NONBLOCK);
    fcntl(orders_.write.number(), F_SETFL, O_NONBLOCK);
    unsent_ = order;
    sent_ = 0;
    const std::vector<std::string> words = remote_words(shell_, host_, agent_words("agent"));
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0) become(words, parent);
    orders_.read = {};
    errors_.write = {};
    started_ = sign_ = steady_now();
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
    write_all(STDERR_FILENO, failure.error.message() + "\n");
    _exit(failure.exit_status);
  }

  void look() {
    std::array<pollfd, 3> watched = {{{signals_.descriptor(), POLLIN, 0},
                                      {errors_.read.number(), POLLIN, 0},
                                      {unsent_.empty() ? -1 : orders_.write.number(), POLLOUT, 0}}};
    poll(watched.data(), watched.size(), static_cast<int>(params::kSignOfLife / millis(1)));
    send();
    pass_errors();
    take_signals();
    if (steady_now() - sign_ >= params::kSignOfLife) {
      sign_ = steady_now();
      unsent_ += '\n';
    }
    if (!greeted_ && !late_ && steady_now() - started_ > params::kSlowLogin) {
      late_ = true;
      write_all(STDERR_FILENO,
                fmt::format("heddle: warning: no answer from {} yet{}{}\n", host_,
                            before_.empty() ? "" : "; it wrote: ", last_line(before_)));
    }
  }

  void send() {
    while (!unsent_.empty()) {
      const ssize_t sent =
          write(orders_.write.number(), unsent_.data() + sent_, unsent_.size() - sent_);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) return;
      sent_ += sent > 0 ? static_cast<size_t>(sent) : 0;
      if (sent > 0 && sent_ < unsent_.size()) continue;
      unsent_ = {};  // all is sent, or the remote shell has gone
      sent_ = 0;
    }
  }

  void take_signals() {
    while (const std::optional<int> number = signals_.next()) {
      if (*number != SIGCHLD) {
        signaled_ = true;
        unsent_ += fmt::format("{}\n", *number);
        continue;
      }
      int status = 0;
      if (waitpid(process_, &status, WNOHANG) == process_) status_ = status;
    }
    send();
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
        write_all(STDERR_FILENO, text);
      } else {
        before_ += text;
        look_for_greeting();
        if (before_.size() > params::kLongestGreeting) kill(process_, SIGKILL);
      }
    }
  }

  // What the remote shell and the other machine's own shell report comes before it.
  void look_for_greeting() {
    const size_t at = before_.find(kGreeting);
    if (at == std::string::npos) return;
    greeted_ = true;
    write_all(STDERR_FILENO, before_.erase(at, kGreeting.size()));
    before_.clear();
  }

  // An sshd that has many logins at once closes some connections (MaxStartups).
  bool was_turned_away() const {
    for (const char* const words :
         {"kex_exchange_identification", "Connection reset by", "Connection closed by"}) {
      if (before_.find(words) != std::string::npos) return true;
    }
    return false;
  }

  // Doubled each time, and not the same for those that were turned away together.
  static Nanos wait_before_again(int tries) {
    const Nanos most = params::kFirstLoginWait * (int64_t{1} << tries);
    return most / 2 + Nanos{(steady_now().count ^ (int64_t{getpid()} << 16)) % (most.count / 2)};
  }

  int finish() const {
    const int status = status_.value_or(0);
    const int ended = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (greeted_) {
      if (ended == kSshFailed) {
        report({ErrorCode::kUnavailable, fmt::format("{} ended with {}", host_, ended),
                "either the command did, or the connection was lost", ""});
      }
      return ended;
    }
    std::string why = last_line(before_);
    if (why.empty()) why = fmt::format("{} ended with {}", shell_.words.front(), ended);
    if (ended == 0) why = "no agent has greeted on standard error; " + why;
    const std::string tried = shell_line(remote_words(shell_, host_, agent_words("--version")));
    report({ErrorCode::kUnavailable, "cannot start anything on " + host_, why,
            fmt::format("this has to work: {}; it must print {}", tried, kVersion)});
    return kOwnFailure;
  }

  static constexpr int kSshFailed = 255;

  const RemoteShell& shell_;
  std::string host_;
  SignalQueue signals_;
  Pipe orders_;
  Pipe errors_;
  pid_t process_ = -1;
  std::optional<int> status_;
  std::string unsent_;  // to the agent
  size_t sent_ = 0;     // of it: input of megabytes goes in pieces of a pipe
  std::string before_;  // the greeting
  bool greeted_ = false;
  bool signaled_ = false;
  bool late_ = false;
  Nanos started_;
  Nanos sign_;  // of life, the last one
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
