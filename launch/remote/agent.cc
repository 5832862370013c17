// See agent.h.
#include "launch/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/clocks.h"
#include "base/descriptor.h"
#include "base/exec.h"
#include "base/write_all.h"
#include "lab/processes.h"
#include "launch/own_command.h"
#include "launch/params.h"
#include "launch/ranks/running_ranks.h"
#include "launch/remote/agent_lines.h"
#include "launch/remote/signal_queue.h"

namespace heddle::launch {
namespace {

void report(const std::string& message) { fmt::print(stderr, "heddle: {}\n", message); }

// Lines of standard input.
class Orders {
 public:
  // Reads what is there, or waits for it; false once it has ended.
  bool read_more() {
    std::array<char, 65'536> piece{};
    ssize_t got = 0;
    do {
      got = read(STDIN_FILENO, piece.data(), piece.size());
    } while (got < 0 && errno == EINTR);
    if (got > 0) text_.append(piece.data(), static_cast<size_t>(got));
    return got > 0 && text_.size() <= params::kLongestOrder;
  }

  std::optional<std::string> next_line() {
    const size_t end = text_.find('\n', looked_at_);
    looked_at_ = end == std::string::npos ? text_.size() : 0;
    if (end == std::string::npos) return std::nullopt;
    const std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    return line;
  }

 private:
  std::string text_;
  size_t looked_at_ = 0;  // as far as there is no newline
};

class Agent {
 public:
  int run() {
    std::optional<std::string> line;
    while (!(line = orders_.next_line())) {
      if (orders_.read_more()) continue;
      report(
          "standard input ended before an order came: `heddle agent` is started by heddle on "
          "another machine, whose remote shell must pass standard input on");
      return kOwnFailure;
    }
    const Result<AgentOrder> order = parse_order(*line);
    if (!order) {
      report(order.error().message());
      return kOwnFailure;
    }
    grace_ = order->command.grace;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    fmt::print(stderr, "{}", kGreeting);
    wait_for_start(*order);
    take_early_signals();
    const auto ending = std::ranges::find_if(early_, is_ending);
    if (ending != early_.end()) return 128 + *ending;  // a caller that no longer waits for it
    if (!signals_.valid() || !keep_secrets(order->command) || !keep_input(order->command.input) ||
        !start(*order)) {
      report(
          fmt::format("cannot start {}: {}", order->command.words.front(), std::strerror(errno)));
      return kOwnFailure;
    }
    for (const int number : early_) pass_on(number);
    while (!status_) look();
    end_descendants();
    return WIFSIGNALED(*status_) ? 128 + WTERMSIG(*status_) : WEXITSTATUS(*status_);
  }

 private:
  // In memory that has no name, which processes of this user open by this process' descriptor.
  bool keep_secrets(const RemoteCommand& command) {
    for (const auto& [variable, text] : command.secrets) {
      Descriptor file(memfd_create("heddle secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
      const bool kept =
          file.valid() &&
          write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
          fchmod(file.number(), S_IRUSR) == 0 &&
          fcntl(file.number(), F_ADD_SEALS,
                F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) == 0;
      if (!kept) return false;
      const std::string path = fmt::format("/proc/{}/fd/{}", getpid(), file.number());
      setenv(variable.c_str(), path.c_str(), 1);
      secrets_.push_back(std::move(file));
    }
    return true;
  }

  bool keep_input(const std::string& text) {
    if (text.empty()) return true;
    input_ = Descriptor(memfd_create("heddle input", MFD_CLOEXEC));
    return input_.valid() && write_all(input_.number(), text) &&
           lseek(input_.number(), 0, SEEK_SET) == 0;
  }

  bool start(const AgentOrder& order) {
    process_ = fork();
    if (process_ != 0) return process_ > 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    restore_signals();
    const int input = input_.valid() ? input_.number() : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input >= 0) dup2(input, STDIN_FILENO);
    if (!order.folder.empty() && chdir(order.folder.c_str()) != 0) {
      report(fmt::format("warning: there is no folder {} here", order.folder));
    }
    for (const std::string& setting : order.command.settings) {
      const size_t at = setting.find('=');
      if (at != std::string::npos) {
        setenv(setting.substr(0, at).c_str(), setting.substr(at + 1).c_str(), 1);
      }
    }
    const std::vector<std::string>& words = order.command.words;
    const ExecFailure failure =
        exec_program(words, words.front() == "heddle" ? own_file() : std::string());
    report(failure.error.message());
    std::fflush(stderr);
    _exit(failure.exit_status);
  }

  void look() {
    std::array<pollfd, 2> watched = {
        {{signals_.descriptor(), POLLIN, 0}, {connected_ ? STDIN_FILENO : -1, POLLIN, 0}}};
    poll(watched.data(), watched.size(), kill_at_ ? kPollMs : kIdlePollMs);
    if (watched[1].revents != 0) {
      connected_ = orders_.read_more();
      heard_ = steady_now();
      for (const int number : signals_asked()) pass_on(number);
    }
    if (connected_ && steady_now() - heard_ > params::kSilence) connected_ = false;
    if (!connected_) end(SIGTERM);
    while (const std::optional<int> number = signals_.next()) pass_on(*number);
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended == process_) status_ = status;
    }
    if (kill_at_ && steady_now() >= *kill_at_) signal_all(SIGKILL);
  }

  // The signals that came as lines.
  std::vector<int> signals_asked() {
    std::vector<int> asked;
    while (const std::optional<std::string> line = orders_.next_line()) {
      int number = 0;
      std::from_chars(line->data(), line->data() + line->size(), number);
      if (number > 0 && number < NSIG) asked.push_back(number);
    }
    return asked;
  }

  // What came with the order, before anything is started.
  void take_early_signals() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    while (connected_ && poll(&input, 1, 0) > 0) connected_ = orders_.read_more();
    early_ = signals_asked();
  }

  // As heddle run does it here: what asks to end is for all that the command has started.
  void pass_on(int number) {
    if (number == SIGCHLD) return;
    if (!is_ending(number)) {
      kill(process_, number);
    } else if (kill_at_) {
      signal_all(number);
    } else {
      end(number);
    }
  }

  void end(int number) {
    if (kill_at_) return;
    signal_all(number);
    kill_at_ = steady_now() + grace_;
  }

  static void wait_for_start(const AgentOrder& order) {
    const Nanos left = order.command.start_at - wall_now();
    if (left > Nanos{} && left <= order.longest_wait) {
      usleep(static_cast<useconds_t>(left / micros(1)));
    }
  }

  static void signal_all(int number) {
    for (const pid_t process : lab::descendants()) kill(process, number);
  }

  static constexpr int kPollMs = params::kPollMs;
  static constexpr int kIdlePollMs = params::kIdlePollMs;

  SignalQueue signals_;
  Orders orders_;
  std::vector<Descriptor> secrets_;
  Descriptor input_;  // of the command
  pid_t process_ = -1;
  std::optional<int> status_;
  std::vector<int> early_;  // signals that came before it was started
  bool connected_ = true;
  Nanos heard_ = steady_now();
  Nanos grace_ = params::kGrace;
  std::optional<Nanos> kill_at_;
};

}  // namespace

// Two processes, so that where one of them is killed the other cleans up.
int run_agent() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t outer = getpid();
  const pid_t inner = fork();
  if (inner < 0) {
    report(fmt::format("cannot start a process: {} (see `ulimit -u`)", std::strerror(errno)));
    return kOwnFailure;
  }
  if (inner == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != outer) return kOwnFailure;
    return Agent().run();
  }
  close(STDIN_FILENO);
  int status = 0;
  while (waitpid(inner, &status, 0) < 0 && errno == EINTR) continue;
  end_descendants();
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace heddle::launch
