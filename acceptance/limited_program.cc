// See limited_program.h. It has its own session: Ctrl-C of a terminal goes to this process alone,
// which then ends it.
#include "acceptance/limited_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "acceptance/params.h"
#include "base/descriptor.h"
#include "base/exec.h"
#include "lab/link_meter.h"
#include "lab/processes.h"

namespace heddle::acceptance {
namespace {

[[noreturn]] void become(const LimitedProgram& program, pid_t parent, int nothing, int errors) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kOwnFailure);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  for (const auto& [name, value] : program.environment) setenv(name.c_str(), value.c_str(), 1);
  const ExecFailure failure = exec_program(program.words);
  const std::string& why = failure.error.why;
  const ssize_t written = write(errors, why.data(), why.size());
  _exit(written < 0 ? kExecFailed : failure.exit_status);
}

std::string last_line_of(int errors) {
  constexpr off_t kMost = params::kSearchedErrorBytes;
  std::array<char, kMost> end{};
  const off_t size = lseek(errors, 0, SEEK_END);
  const ssize_t got = pread(errors, end.data(), end.size(), size > kMost ? size - kMost : 0);
  std::string text(end.data(), got > 0 ? static_cast<size_t>(got) : 0);
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

// What it has started, too: in its group, or left to this process.
void end_all(pid_t program) {
  kill(program, SIGKILL);
  kill(-program, SIGKILL);
}

// `others`: children of this process that ran before the program, which go on.
void end_left(const std::vector<pid_t>& others) {
  for (int round = 0; round < 300; ++round) {
    size_t ended = 0;
    for (const pid_t process : lab::descendants()) {
      if (std::find(others.begin(), others.end(), process) != others.end()) continue;
      kill(process, SIGKILL);
      waitpid(process, nullptr, WNOHANG);
      ++ended;
    }
    if (ended == 0) return;
    usleep(2'000);
  }
}

int wait_for(pid_t program, const LimitedProgram& limits, ProgramEnd& end) {
  const Descriptor ended(static_cast<int>(syscall(SYS_pidfd_open, program, 0)));
  const Nanos start = lab::meter_now();
  int status = 0;
  for (;;) {
    if (waitpid(program, &status, WNOHANG) == program) return status;
    end.interrupted = limits.interrupted();
    end.late = lab::meter_now() - start > limits.limit;
    if (end.interrupted || end.late) break;
    pollfd wait{ended.number(), POLLIN, 0};
    poll(&wait, ended.valid() ? 1 : 0, params::kProgramLookMs);
  }
  end_all(program);
  while (waitpid(program, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

}  // namespace

Result<ProgramEnd> run_limited(const LimitedProgram& program) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what it leaves behind becomes this process's, to be ended
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  const Descriptor errors(memfd_create("errors", MFD_CLOEXEC));
  const std::vector<pid_t> others = lab::descendants();
  const pid_t parent = getpid();
  const pid_t child = nothing.valid() && errors.valid() ? fork() : -1;
  if (child < 0) {
    return fail(ErrorCode::kSystem, "cannot start " + program.words.front(), std::strerror(errno),
                "see `ulimit -a`");
  }
  if (child == 0) become(program, parent, nothing.number(), errors.number());
  ProgramEnd end;
  const int status = wait_for(child, program, end);
  kill(-child, SIGKILL);
  end_left(others);
  end.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  end.last_line = last_line_of(errors.number());
  return end;
}

}  // namespace heddle::acceptance
