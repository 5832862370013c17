// See host_lock.h. The holder removes the file before it lets go, so a process that opened it
// before holds a file without a name: it looks whether the name still leads there.
#include "nodes/host_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>

#include "base/descriptor.h"
#include "nodes/params.h"

namespace heddle::nodes {
namespace {

struct Held {
  std::array<std::atomic<int>, params::kMostLocks> descriptors;
  Held() {
    for (auto& each : descriptors) each = -1;
  }
};
Held& held_locks() {
  static Held held;
  return held;
}

// A lock of flock(2) is held until all copies of its descriptor are closed, those of forked
// children too: a data loader that outlives its rank would hold it for ever. close(2) is safe
// there.
void close_in_child() {
  for (auto& each : held_locks().descriptors) {
    if (const int file = each.exchange(-1); file >= 0) close(file);
  }
}

bool replace(int before, int after) {
  for (auto& each : held_locks().descriptors) {
    int expected = before;
    if (each.compare_exchange_strong(expected, after)) return true;
  }
  return false;
}

bool hold(int file) {
  static const bool is_watched = pthread_atfork(nullptr, nullptr, &close_in_child) == 0;
  return is_watched && replace(-1, file);
}

void let_go(int file) { replace(file, -1); }

bool is_named(int descriptor, const std::string& path) {
  struct stat held {};
  struct stat named {};
  return fstat(descriptor, &held) == 0 && stat(path.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

}  // namespace

std::optional<HostLock> HostLock::take(const std::string& path) {
  for (int i = 0; i < params::kLockTries; ++i) {
    Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file.valid() || flock(file.number(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
    if (!is_named(file.number(), path)) continue;
    const int held = fcntl(file.number(), F_DUPFD_CLOEXEC, 0);
    if (held < 0) return std::nullopt;
    if (hold(held)) return HostLock(path, held);
    close(held);
    errno = EMFILE;
    return std::nullopt;
  }
  errno = EWOULDBLOCK;
  return std::nullopt;
}

HostLock::~HostLock() {
  if (held_ < 0 || fork_guard_.in_child()) return;
  unlink(path_.c_str());
  let_go(held_);
  close(held_);
}

}  // namespace heddle::nodes
