// OwnMutex: a mutex of the process that made it. In a child of fork() another thread may have held
// it, and nobody there lets go: so a child never waits for it. It is the only mutex of heddle's
// libraries (tests/house says so); what a child may reach takes it by enter().
#pragma once

#include <mutex>

#include "base/check.h"
#include "base/fork_guard.h"

namespace heddle {

class OwnMutex {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // Owns nothing in a child: what it guards may be half changed there, and is not to be looked at.
  [[nodiscard]] Lock enter() { return in_child() ? Lock() : Lock(mutex_); }
  // Where a child cannot come, because somebody before has asked; it ends a child that does.
  [[nodiscard]] Lock lock() {
    CHECK(!in_child());
    return Lock(mutex_);
  }
  // Owns nothing if another thread has it, or in a child.
  [[nodiscard]] Lock try_lock() { return in_child() ? Lock() : Lock(mutex_, std::try_to_lock); }

  bool in_child() const { return fork_guard_.in_child(); }

 private:
  const ForkGuard fork_guard_;
  std::mutex mutex_;
};

}  // namespace heddle
