// See machine.h.
#include "lab/vm/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/exec.h"
#include "base/write_all.h"
#include "lab/vm/params.h"
#include "lab/vm/qemu.h"

namespace heddle::lab::vm {
namespace {

Nanos monotonic_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return seconds(now.tv_sec) + nanos(now.tv_nsec);
}

CommandEnd own_failure(std::string why, std::string todo) {
  return {kOwnFailure, Error{ErrorCode::kUnavailable, "the virtual machine failed", std::move(why),
                             std::move(todo)}};
}

// What can be read now; nothing at the end of the stream.
std::string read_some(const Descriptor& from) {
  std::array<char, 65536> block;
  const ssize_t got = recv(from.number(), block.data(), block.size(), MSG_DONTWAIT);
  return got > 0 ? std::string(block.data(), static_cast<size_t>(got)) : std::string();
}

// All that has arrived. A signal ends it even where the output's reader has stopped.
void forward(const Descriptor& from, int to) {
  for (std::string text = read_some(from); !text.empty(); text = read_some(from)) {
    std::string_view left = text;
    while (!left.empty() && noted_signal() == 0) {
      const ssize_t written = write(to, left.data(), left.size());
      if (written < 0 && errno != EINTR) return;
      if (written > 0) left.remove_prefix(static_cast<size_t>(written));
    }
    if (noted_signal() != 0) return;
  }
}

void inherit(int descriptor) {
  if (descriptor >= 0) fcntl(descriptor, F_SETFD, 0);
}

std::string last_lines(const std::string& text, size_t count) {
  size_t from = text.find_last_not_of("\r\n");
  if (from == std::string::npos) return "it printed nothing";
  const size_t end = from + 1;
  for (size_t lines = 0; from > 0; --from) {
    if (text[from - 1] == '\n' && ++lines == count) break;
  }
  return text.substr(from, end - from);
}

}  // namespace

Machine::Machine(Machine&& other) noexcept
    : process_(std::exchange(other.process_, 0)),
      process_descriptor_(std::move(other.process_descriptor_)),
      control_(std::move(other.control_)),
      output_(std::move(other.output_)),
      error_(std::move(other.error_)),
      terminal_(std::move(other.terminal_)),
      console_(std::move(other.console_)),
      limit_from_(other.limit_from_) {}

Machine::~Machine() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

Result<void> Machine::open_ports(bool shell) {
  for (Port* const port : {&control_, &output_, &error_, &terminal_, &console_}) {
    if (port == &terminal_ && !shell) continue;
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return fail(ErrorCode::kSystem, "cannot start a virtual machine", std::strerror(errno),
                  "see `ulimit -n`");
    }
    *port = {Descriptor(ends[0]), Descriptor(ends[1])};
  }
  return {};
}

Result<Machine> Machine::start(const VmOptions& options, const std::string& image,
                               const std::string& ram_disk) {
  Machine machine;
  if (Result<void> open = machine.open_ports(options.shell); !open) return fail(open.error());
  const Descriptor disk(memfd_create("heddle-vm", MFD_CLOEXEC));
  const auto failed = [](const char* todo) {
    return fail(ErrorCode::kSystem, "cannot start a virtual machine", std::strerror(errno), todo);
  };
  if (!disk.valid() || !write_all(disk.number(), ram_disk)) return failed("see `ulimit -a`");
  const QemuDescriptors descriptors{disk.number(), machine.control_.theirs.number(),
                                    machine.output_.theirs.number(), machine.error_.theirs.number(),
                                    machine.terminal_.theirs.number()};
  const std::vector<std::string> words = qemu_words(options, image, descriptors);
  const pid_t parent = getpid();
  machine.process_ = fork();
  if (machine.process_ < 0) return failed("see `ulimit -u`");
  if (machine.process_ == 0) {
    inherit(disk.number());
    machine.become(words, parent);
  }
  machine.process_descriptor_ =
      Descriptor(static_cast<int>(syscall(SYS_pidfd_open, machine.process_, 0)));
  for (Port* const port : {&machine.control_, &machine.output_, &machine.error_, &machine.terminal_,
                           &machine.console_}) {
    port->theirs = Descriptor();
  }
  machine.limit_from_ = monotonic_now();
  return machine;
}

// In a session of its own, so that a terminal's Ctrl-C reaches heddle only, which then ends it.
void Machine::become(const std::vector<std::string>& words, pid_t parent) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kOwnFailure);
  setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
  for (const Port* const port : {&control_, &output_, &error_, &terminal_}) {
    inherit(port->theirs.number());
  }
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(console_.theirs.number(), STDOUT_FILENO);
  dup2(console_.theirs.number(), STDERR_FILENO);
  const ExecFailure failure = exec_program(words);
  static_cast<void>(write_all(STDERR_FILENO, failure.error.message()));
  _exit(failure.exit_status);
}

CommandEnd Machine::wait(const VmOptions& options) {
  for (;;) {
    if (std::optional<CommandEnd> end = step(options)) return *end;
  }
}

std::optional<CommandEnd> Machine::step(const VmOptions& options) {
  if (noted_signal() != 0) return CommandEnd{128 + noted_signal(), std::nullopt};
  std::array<pollfd, 7> waits{};
  waits[0] = {process_descriptor_.number(), POLLIN, 0};
  waits[1] = {control_.ours.number(), POLLIN, 0};
  waits[2] = {output_.ours.number(), POLLIN, 0};
  waits[3] = {error_.ours.number(), POLLIN, 0};
  waits[4] = {console_.ours.number(), POLLIN, 0};
  waits[5] = {terminal_.ours.number(), POLLIN, 0};
  waits[6] = {options.shell ? STDIN_FILENO : -1, POLLIN, 0};
  poll(waits.data(), waits.size(), kLookMs);
  if (waits[6].revents != 0) {
    std::array<char, 4096> keys;
    const ssize_t got = read(STDIN_FILENO, keys.data(), keys.size());
    if (got <= 0) return CommandEnd{128 + SIGHUP, std::nullopt};
    write_all(terminal_.ours.number(), {keys.data(), static_cast<size_t>(got)});
  }
  forward_all();
  if (std::optional<CommandEnd> end = take_control()) return end;
  if (waits[0].revents != 0) return died();
  return check_limits(options);
}

void Machine::forward_all() {
  forward(output_.ours, STDOUT_FILENO);
  forward(error_.ours, STDERR_FILENO);
  if (terminal_.ours.valid()) forward(terminal_.ours, STDOUT_FILENO);
  for (std::string text = read_some(console_.ours); !text.empty();
       text = read_some(console_.ours)) {
    console_text_ += text;
    if (console_text_.size() > 2 * kConsoleBytes) {
      console_text_.erase(0, console_text_.size() - kConsoleBytes);
    }
  }
}

// Reads the scripts' lines: see setup_script().
std::optional<CommandEnd> Machine::take_control() {
  control_text_ += read_some(control_.ours);
  for (size_t end = 0; (end = control_text_.find('\n')) != std::string::npos;) {
    const std::string line = control_text_.substr(0, end);
    control_text_.erase(0, end + 1);
    if (line == "ready") {
      ready_ = true;
      limit_from_ = monotonic_now();
    } else if (line.starts_with("exit ")) {
      forward_all();  // the machine has handed over all of it before this line
      int status = kOwnFailure;
      std::from_chars(line.data() + 5, line.data() + line.size(), status);
      return CommandEnd{status, std::nullopt};
    } else if (line.starts_with("failed ")) {
      return own_failure(line.substr(7), "this host needs iproute2, kmod and ethtool");
    }
  }
  return std::nullopt;
}

std::optional<CommandEnd> Machine::check_limits(const VmOptions& options) const {
  const Nanos spent = monotonic_now() - limit_from_;
  if (!ready_ && spent > kBootLimit) {
    return own_failure(
        fmt::format("it did not boot within {:g} s; its last lines: {}", to_seconds(kBootLimit),
                    last_lines(console_text_, kConsoleLines)),
        "a host that does other work may be too slow");
  }
  if (!ready_ || options.timeout.count == 0 || spent <= options.timeout) return std::nullopt;
  return CommandEnd{kTimedOut, std::nullopt};
}

CommandEnd Machine::died() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
  process_ = 0;
  forward_all();
  const std::string how = WIFSIGNALED(status)
                              ? fmt::format("was ended by signal {}", WTERMSIG(status))
                              : fmt::format("ended with {}", WEXITSTATUS(status));
  return own_failure(
      fmt::format("QEMU {}; its last lines: {}", how, last_lines(console_text_, kConsoleLines)),
      "give more --memory if the kernel ran out of it");
}

}  // namespace heddle::lab::vm
