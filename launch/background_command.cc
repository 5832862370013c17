// See background_command.h.
#include "launch/background_command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "base/exec.h"
#include "base/inherited_files.h"
#include "base/printable.h"
#include "base/write_all.h"
#include "launch/params.h"
#include "launch/remote/pipe.h"

namespace heddle::launch {
namespace {

constexpr int kSettings = 3;  // the descriptor at which a command finds them

// Variables that are for this program alone.
constexpr std::array kSecrets = {"HEDDLE_NATS_PASSWORD", "HEDDLE_NATS_TOKEN",
                                 "HEDDLE_CLICKHOUSE_PASSWORD"};

// A file of memory with this text, which is read from its beginning.
Descriptor file_of(const std::string& text) {
  Descriptor made(memfd_create("input", MFD_CLOEXEC));
  const bool written =
      made.valid() && write_all(made.number(), text) && lseek(made.number(), 0, SEEK_SET) == 0;
  return written ? std::move(made) : Descriptor();
}

bool make(Pipe& pipe) { return pipe.make() && fcntl(pipe.read.number(), F_SETFL, O_NONBLOCK) == 0; }

// What has come, without waiting.
std::string read_all(const Descriptor& pipe) {
  std::string text;
  std::array<char, 4096> piece{};
  while (pipe.valid() && text.size() < params::kMostOutput) {
    const ssize_t got = read(pipe.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  return text;
}

std::string last_line(std::string text) {
  const size_t last = text.find_last_not_of(" \r\n\t");
  if (last == std::string::npos) return {};
  text.resize(last + 1);
  const size_t before = text.rfind('\n');
  return printable(before == std::string::npos ? text : text.substr(before + 1));
}

// Without waiting for it.
bool is_reaped(pid_t process) {
  pid_t ended = 0;
  do {
    ended = waitpid(process, nullptr, WNOHANG);
  } while (ended < 0 && errno == EINTR);
  return ended != 0;
}

// Processes that were killed and have not ended yet.
class Unreaped {
 public:
  void add(pid_t process) {
    const std::scoped_lock lock(mutex_);
    processes_.push_back(process);
  }
  void reap() {
    const std::scoped_lock lock(mutex_);
    std::erase_if(processes_, is_reaped);
  }

 private:
  std::mutex mutex_;
  std::vector<pid_t> processes_;
};
Unreaped& unreaped() {
  static Unreaped instance;
  return instance;
}

// Whether the command has ended by itself. It stays to be reaped, so its group's number is not
// another one's yet.
bool has_ended(pid_t process) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == process;
}

struct Streams {
  Descriptor input;
  Descriptor settings;  // may be none
  Pipe output;
  Pipe errors;
};

// Writes to standard error why `name` was not started, in pieces: a joined text would take memory.
void report_failure(const char* name, int error) {
  const std::array<const char*, 5> pieces = {"cannot run ", name, ": ", std::strerror(error), "\n"};
  for (const char* const piece : pieces) write_all(STDERR_FILENO, piece);
}

[[noreturn]] void become(const PreparedExec& program, const char* name, const Streams& streams) {
  const Descriptor& output = streams.output.write;
  const Descriptor& errors = streams.errors.write;
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
  dup2(streams.input.number(), STDIN_FILENO);
  if (errors.valid()) dup2(errors.number(), STDERR_FILENO);
  // Standard output is for results of this program.
  dup2(output.valid() ? output.number() : STDERR_FILENO, STDOUT_FILENO);
  if (streams.settings.number() == kSettings) fcntl(kSettings, F_SETFD, 0);
  if (streams.settings.valid()) dup2(streams.settings.number(), kSettings);
  // Libraries open descriptors that a command would keep, as sockets to the site's servers.
  close_files_on_exec_from(streams.settings.valid() ? kSettings + 1 : kSettings);
  const int error = program.run();
  report_failure(name, error);
  _exit(error == ENOENT ? kNotFound : kExecFailed);
}

}  // namespace

BackgroundCommand::BackgroundCommand(BackgroundCommand&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      ends_at_(other.ends_at_),
      output_pipe_(std::move(other.output_pipe_)),
      errors_pipe_(std::move(other.errors_pipe_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

BackgroundCommand& BackgroundCommand::operator=(BackgroundCommand&& other) noexcept {
  std::swap(process_, other.process_);
  std::swap(ends_at_, other.ends_at_);
  std::swap(output_pipe_, other.output_pipe_);
  std::swap(errors_pipe_, other.errors_pipe_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  return *this;
}

BackgroundCommand::~BackgroundCommand() { end(); }

// A process in the kernel may not end at once: it is reaped by a later command.
void BackgroundCommand::end() {
  if (process_ <= 0) return;
  kill(-process_, SIGKILL);
  for (int i = 0; !is_reaped(process_); ++i) {
    if (i == params::kMostWaits) {
      unreaped().add(process_);
      break;
    }
    usleep(1'000);
  }
  process_ = -1;
}

Result<BackgroundCommand> BackgroundCommand::start(const CommandOptions& options, Nanos now) {
  Streams streams{.input = file_of(options.input), .settings = {}, .output = {}, .errors = {}};
  if (!options.settings.empty()) streams.settings = file_of(options.settings);
  const bool ready = streams.input.valid() &&
                     (options.settings.empty() || streams.settings.valid()) &&
                     (!options.keep_output || (make(streams.output) && make(streams.errors)));
  const PreparedExec program(options.words, {}, {kSecrets.begin(), kSecrets.end()});
  const pid_t parent = getpid();
  const pid_t process = ready ? fork() : -1;
  if (process < 0) {
    return fail(ErrorCode::kSystem, "cannot run '" + options.words.front() + "'",
                std::strerror(errno), "see `ulimit -u` and `ulimit -n`");
  }
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kOwnFailure);
    become(program, options.words.front().c_str(), streams);
  }
  setpgid(process, process);  // here too, so that it is done before the group is ended
  BackgroundCommand made(process, now + options.limit);
  made.output_pipe_ = std::move(streams.output.read);
  made.errors_pipe_ = std::move(streams.errors.read);
  return made;
}

// Takes what was written, so that no full pipe holds the command up.
void BackgroundCommand::drain() {
  output_ += read_all(output_pipe_);
  if (output_.size() > params::kMostOutput) output_.resize(params::kMostOutput);
  errors_ += read_all(errors_pipe_);
  if (errors_.size() > params::kMostErrors) errors_.erase(0, errors_.size() - params::kMostErrors);
}

std::optional<CommandResult> BackgroundCommand::poll(Nanos now) {
  if (process_ <= 0) return std::nullopt;
  CommandResult result;
  int status = 0;
  unreaped().reap();
  const bool ended = has_ended(process_);
  drain();
  if (ended) {
    kill(-process_, SIGKILL);  // what it has left behind
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
    process_ = -1;
    result.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  } else if (now >= ends_at_) {
    end();
    result.exit_status = 128 + SIGKILL;
    result.timed_out = true;
  } else {
    return std::nullopt;
  }
  result.output = std::move(output_);
  result.last_error = last_line(std::move(errors_));
  return result;
}

}  // namespace heddle::launch
