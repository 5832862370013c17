// PerProcess<T>: state that all threads of a process share, with its locks; for static variables. A
// child of fork() gets a new one at first use, because a thread of the parent may have been
// changing the old one. get() takes no lock. Never destroyed: threads may outlive main().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/fork_guard.h"

namespace heddle {

template <typename T>
class PerProcess {
 public:
  constexpr PerProcess() = default;
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  T& get() {
    Node* seen = node_.load(std::memory_order_acquire);
    if (seen != nullptr && !seen->guard.in_child()) return seen->value;
    auto made = std::make_unique<Node>();
    while (seen == nullptr || seen->guard.in_child()) {
      if (node_.compare_exchange_weak(seen, made.get(), std::memory_order_acq_rel)) {
        return made.release()->value;
      }
    }
    return seen->value;
  }

 private:
  struct Node {
    ForkGuard guard;
    T value;
  };

  std::atomic<Node*> node_{nullptr};
};

}  // namespace heddle
