// OwnMutex: a mutex of the process that made it. In a child of fork() another thread of the parent
// may have held it, so a child never waits for it. heddle's libraries use no other mutex
// (tests/house checks this); code that a child may reach takes it by enter().
#pragma once

#include <mutex>

#include "base/check.h"
#include "base/fork_guard.h"

namespace heddle {

class OwnMutex {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // Owns nothing in a child: the guarded data may be inconsistent there and must not be read.
  [[nodiscard]] Lock enter() { return in_child() ? Lock() : Lock(mutex_); }
  // For code that a child cannot reach because a caller checked; aborts in a child.
  [[nodiscard]] Lock lock() {
    CHECK(!in_child());
    return Lock(mutex_);
  }
  // Owns nothing if another thread holds it, or in a child.
  [[nodiscard]] Lock try_lock() { return in_child() ? Lock() : Lock(mutex_, std::try_to_lock); }

  bool in_child() const { return fork_guard_.in_child(); }

 private:
  const ForkGuard fork_guard_;
  std::mutex mutex_;
};

}  // namespace heddle
