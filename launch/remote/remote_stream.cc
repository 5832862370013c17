// See remote_stream.h. A process between this one and the remote shell stands for the command: it
// is run_remote(), with pipes as its standard streams.
#include "launch/remote_stream.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/clocks.h"
#include "base/exec.h"
#include "base/inherited_files.h"
#include "launch/params.h"
#include "launch/remote/pipe.h"

namespace heddle::launch {

Result<RemoteStream> RemoteStream::start(const RemoteShell& shell, const std::string& host,
                                         const RemoteCommand& command) {
  if (!is_host_name(host)) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot start anything on '{}'", host),
                "that is no name of a host", "write its name or address, as node1");
  }
  Pipe output;
  Pipe errors;
  const bool ready = output.make() && errors.make() &&
                     fcntl(output.read.number(), F_SETFL, O_NONBLOCK) == 0 &&
                     fcntl(errors.read.number(), F_SETFL, O_NONBLOCK) == 0;
  const pid_t parent = getpid();
  const pid_t process = ready ? fork() : -1;
  if (process < 0) {
    return fail(ErrorCode::kSystem, "cannot run anything on " + host, std::strerror(errno),
                "see `ulimit -u` and `ulimit -n`");
  }
  if (process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(kOwnFailure);
    setpgid(0, 0);  // Ctrl-C is for the parent, which ends this one
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    dup2(output.write.number(), STDOUT_FILENO);
    dup2(errors.write.number(), STDERR_FILENO);
    // This process becomes no program, so nothing is closed on exec: sockets and pipes of others.
    close_files_from(STDERR_FILENO + 1);
    _exit(run_remote(shell, host, command));
  }
  return RemoteStream(process, std::move(output.read), std::move(errors.read));
}

RemoteStream::RemoteStream(pid_t process, Descriptor output, Descriptor errors)
    : process_(process), output_(std::move(output)), errors_(std::move(errors)) {}

RemoteStream::RemoteStream(RemoteStream&& other) noexcept
    : process_(std::exchange(other.process_, -1)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      last_line_(std::move(other.last_line_)),
      stopped_(other.stopped_),
      stopped_at_(other.stopped_at_) {}

void RemoteStream::stop() {
  if (process_ <= 0 || std::exchange(stopped_, true)) return;
  kill(process_, SIGTERM);
  stopped_at_ = steady_now();
}

RemoteStream::~RemoteStream() {
  if (process_ <= 0) return;
  stop();
  output_ = {};  // a command that cannot write any more ends
  errors_ = {};
  while (steady_now() - stopped_at_ < params::kStreamGrace) {
    if (waitpid(process_, nullptr, WNOHANG) != 0) return;
    usleep(5'000);
  }
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

std::string RemoteStream::complaint() {
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t got = read(errors_.number(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    last_line_.append(piece.data(), static_cast<size_t>(got));
    const std::string_view ended =
        std::string_view(last_line_).substr(0, last_line_.find_last_not_of('\n') + 1);
    const size_t line = ended.rfind('\n');
    if (line != std::string_view::npos) last_line_.erase(0, line + 1);
    if (last_line_.size() > params::kLongestComplaint) last_line_.resize(params::kLongestComplaint);
  }
  std::string text = last_line_.substr(0, last_line_.find_last_not_of('\n') + 1);
  constexpr std::string_view kName = "heddle: ";
  if (text.rfind(kName, 0) == 0) text.erase(0, kName.size());
  return text;
}

}  // namespace heddle::launch
