// See hook.h.
#include "monitor/hook.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "base/exec.h"
#include "base/write_all.h"
#include "monitor/params.h"

namespace heddle::monitor {

Hook::Hook(std::string command, std::function<void(const std::string& text)> warn)
    : command_(std::move(command)), warn_(std::move(warn)) {}

Hook::~Hook() { end(); }

void Hook::end() {
  if (process_ <= 0) return;
  kill(-process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
  process_ = -1;
}

void Hook::add(std::string input) {
  if (waiting_.size() < params::kMostWaiting) {
    waiting_.push_back(std::move(input));
    return;
  }
  warn_(fmt::format("{} runs of '{}' wait: one more is left out", waiting_.size(), command_));
}

void Hook::poll(Nanos now) {
  look_after(now);
  if (process_ <= 0 && !waiting_.empty()) start(now);
}

void Hook::start(Nanos now) {
  const std::string input = std::move(waiting_.front());
  waiting_.pop_front();
  const Descriptor file(memfd_create("change", MFD_CLOEXEC));
  const bool ready =
      file.valid() && write_all(file.number(), input) && lseek(file.number(), 0, SEEK_SET) == 0;
  process_ = ready ? fork() : -1;
  if (process_ < 0) {
    warn_(fmt::format("cannot run '{}': {}", command_, std::strerror(errno)));
    return;
  }
  started_ = now;
  if (process_ > 0) {
    setpgid(process_, process_);  // here too, so that it is done before the group is ended
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
  dup2(file.number(), STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // standard output is for results of this program
  const ExecFailure failure = exec_program({"/bin/sh", "-c", command_});
  write_all(STDERR_FILENO, failure.error.message() + "\n");
  _exit(failure.exit_status);
}

void Hook::look_after(Nanos now) {
  if (process_ <= 0) return;
  int status = 0;
  const pid_t ended = waitpid(process_, &status, WNOHANG);
  if (ended == process_) {
    process_ = -1;
    const int result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (result != 0) warn_(fmt::format("'{}' ended with {}", command_, result));
    return;
  }
  if (now - started_ < params::kLongestHook) return;
  end();
  warn_(fmt::format("'{}' ran for longer than {} s, and was ended", command_,
                    params::kLongestHook / seconds(1)));
}

}  // namespace heddle::monitor
