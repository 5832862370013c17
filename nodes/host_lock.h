// HostLock: one holder of a file at a time; it goes with its process, however that ends, even where
// children that the process has forked live on.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/fork_guard.h"

namespace heddle::nodes {

class HostLock {
 public:
  // Nothing: another process holds it, or the file system has no locks; errno says which
  // (EWOULDBLOCK).
  static std::optional<HostLock> take(const std::string& path);
  // Removes the file, but in a child of fork(), which has let go of it.
  ~HostLock();
  HostLock(HostLock&& other) noexcept
      : path_(std::exchange(other.path_, {})), held_(std::exchange(other.held_, -1)) {}
  HostLock& operator=(HostLock&&) = delete;

 private:
  HostLock(std::string path, int held) : path_(std::move(path)), held_(held) {}

  std::string path_;
  int held_ = -1;  // a descriptor that children of fork() close at once
  ForkGuard fork_guard_;
};

}  // namespace heddle::nodes
