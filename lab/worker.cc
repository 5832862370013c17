// See worker.h. The pipe carries one letter ('v' for a value, 'e' for an error) and the text; NUL
// separates an error's parts.
#include "lab/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "lab/params.h"

namespace heddle::lab {
namespace {

std::string encoded(const Result<std::string>& result) {
  if (result) return "v" + *result;
  const Error& error = result.error();
  return fmt::format("e{}{}{}{}{}{}{}", static_cast<int>(error.code), '\0', error.what, '\0',
                     error.why, '\0', error.todo);
}

Error decoded_error(const std::string& text) {
  std::array<std::string, 4> parts;
  size_t part = 0;
  for (const char letter : text) {
    if (letter == '\0' && part + 1 < parts.size()) {
      ++part;
    } else {
      parts[part] += letter;
    }
  }
  const bool known = !parts[0].empty() && parts[0].find_first_not_of("0123456789") == parts[0].npos;
  return {known ? static_cast<ErrorCode>(std::stoi(parts[0])) : ErrorCode::kSystem, parts[1],
          parts[2], parts[3]};
}

// What `child` writes, the leader of its group. A pause of a host stops all processes in its
// namespace; one that only reads or changes the lab is none of the host's, and goes on with the
// programs that it runs.
std::string read_all(int descriptor, pid_t child) {
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = poll(&waiting, 1, params::kLookEveryMs);
    if (ready == 0) kill(-child, SIGCONT);
    if (ready <= 0)
      continue;  // also after a signal: a read would wait for a child that stands still
    const ssize_t got = read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(block.data(), static_cast<size_t>(got));
  }
}

void write_all(int descriptor, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(descriptor, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    done += static_cast<size_t>(wrote);
  }
}

[[noreturn]] void work_and_end(const Work& work, int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_IGN);  // the parent handles Ctrl-C
  try {
    write_all(pipe, encoded(work()));
  } catch (const std::exception& error) {
    write_all(pipe, encoded(fail(ErrorCode::kSystem, "a step of the lab failed", error.what())));
  }
  _exit(0);
}

}  // namespace

Workers::Workers(size_t limit) : limit_(limit) {
  if (limit_ == 0) limit_ = 2 * static_cast<size_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

Workers::~Workers() {
  for (const Running& each : running_) {
    kill(-each.process, SIGKILL);
    close(each.pipe);
    while (waitpid(each.process, nullptr, 0) < 0 && errno == EINTR) continue;
  }
}

void Workers::start(const Work& work) {
  if (running_.size() >= limit_) collect_first();
  std::array<int, 2> ends{};
  const size_t number = texts_.size();
  texts_.emplace_back();
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    keep({ErrorCode::kSystem, "cannot start a step of the lab", std::strerror(errno), ""});
    return;
  }
  const pid_t process = fork();
  if (process == 0) {
    setpgid(0, 0);
    close(ends[0]);
    work_and_end(work, ends[1]);
  }
  close(ends[1]);
  if (process < 0) {
    keep({ErrorCode::kSystem, "cannot start a step of the lab", std::strerror(errno), ""});
    close(ends[0]);
    return;
  }
  setpgid(process, process);  // whichever of the two is first
  running_.push_back({process, ends[0], number});
}

Result<std::vector<std::string>> Workers::finish() {
  while (!running_.empty()) collect_first();
  if (failed_) return fail(error_);
  return std::move(texts_);
}

void Workers::collect_first() {
  const Running first = running_.front();
  running_.erase(running_.begin());
  const std::string text = read_all(first.pipe, first.process);
  close(first.pipe);
  while (waitpid(first.process, nullptr, 0) < 0 && errno == EINTR) continue;
  if (text.empty()) {
    keep({ErrorCode::kSystem, "a step of the lab ended without a word", "it was killed", ""});
  } else if (text.front() == 'v') {
    texts_[first.number] = text.substr(1);
  } else {
    keep(decoded_error(text.substr(1)));
  }
}

void Workers::keep(const Error& error) {
  if (!failed_) error_ = error;
  failed_ = true;
}

Result<std::string> run_apart(const Work& work) {
  Workers workers(1);
  workers.start(work);
  Result<std::vector<std::string>> texts = workers.finish();
  if (!texts) return fail(std::move(texts).error());
  return std::move(texts->front());
}

Result<void> enter_namespace(const std::string& netns, bool own_sys) {
  const std::string path = "/run/netns/" + netns;
  const std::string what = "cannot enter the namespace " + netns;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return fail(ErrorCode::kUnavailable, what, std::strerror(errno),
                "see `heddle lab list` for the labs that are up");
  }
  const int entered = setns(descriptor, CLONE_NEWNET);
  const int reason = errno;
  close(descriptor);
  if (entered != 0) {
    return fail(ErrorCode::kPermission, what, std::strerror(reason), "run it as root");
  }
  if (!own_sys) return {};
  if (unshare(CLONE_NEWNS) != 0) {
    return fail(ErrorCode::kPermission, what, std::strerror(errno), "run it as root");
  }
  const bool root_is_mount = mount("", "/", nullptr, MS_SLAVE | MS_REC, nullptr) == 0;
  if (!root_is_mount && errno != EINVAL) {
    return fail(ErrorCode::kPermission, what, std::strerror(errno), "run it as root");
  }
  // The root of a chroot may be no mount. A mount on top of its /sys is then visible in this
  // process alone; one in place of its /sys would be visible outside.
  if (!root_is_mount && mount("", "/sys", nullptr, MS_SLAVE | MS_REC, nullptr) != 0) return {};
  // If a container forbids this, /sys shows another namespace's devices. Only receive steering
  // needs it, and reports the failure itself.
  if (root_is_mount) static_cast<void>(umount2("/sys", MNT_DETACH));
  static_cast<void>(mount("heddle-lab", "/sys", "sysfs", 0, nullptr));
  return {};
}

Result<void> write_kernel_file(const std::string& path, const std::string& value) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = descriptor >= 0 && write(descriptor, value.data(), value.size()) ==
                                              static_cast<ssize_t>(value.size());
  const int reason = errno;
  if (descriptor >= 0) close(descriptor);
  if (written) return {};
  return fail(ErrorCode::kSystem, fmt::format("cannot set {} to {}", path, value),
              std::strerror(reason), "the kernel must have and allow it");
}

}  // namespace heddle::lab
