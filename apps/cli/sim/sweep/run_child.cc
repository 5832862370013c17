// A child process and what it wrote: see run_child.h.
#include "apps/cli/sim/sweep/run_child.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace heddle::cli {
namespace {

Unexpected refuse(int error) {
  const bool full = error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN;
  return fail(full ? ErrorCode::kExhausted : ErrorCode::kSystem, "cannot start a simulation",
              std::strerror(error), "run fewer at once with --jobs");
}

// Between fork() and exec(): nothing that takes a lock or memory.
[[noreturn]] void become(char* const* words, int output, int errors, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before that
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execv("/proc/self/exe", words);
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<RunChild>> RunChild::start(const std::vector<std::string>& words) {
  std::unique_ptr<RunChild> made(new RunChild);
  made->output_ = memfd_create("results", MFD_CLOEXEC);
  made->errors_ = memfd_create("errors", MFD_CLOEXEC);
  if (made->output_ < 0 || made->errors_ < 0) return refuse(errno);
  std::vector<std::string> all = {"heddle"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  made->process_ = fork();
  if (made->process_ < 0) return refuse(errno);
  if (made->process_ == 0) become(pointers.data(), made->output_, made->errors_, parent);
  return made;
}

RunChild::~RunChild() {
  if (process_ > 0 && !ended()) {
    kill(process_, SIGKILL);
    while (waitpid(process_, &status_, 0) < 0 && errno == EINTR) {
    }
  }
  if (output_ >= 0) close(output_);
  if (errors_ >= 0) close(errors_);
}

bool RunChild::ended() {
  if (!ended_) ended_ = waitpid(process_, &status_, WNOHANG) == process_;
  return ended_;
}

int RunChild::exit_status() const {
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::string RunChild::text_of(int descriptor) {
  std::string text;
  char piece[16'384];
  for (;;) {
    const ssize_t count = pread(descriptor, piece, sizeof piece, static_cast<off_t>(text.size()));
    if (count <= 0) return text;
    text.append(piece, static_cast<size_t>(count));
  }
}

}  // namespace heddle::cli
