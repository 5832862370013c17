// ForkGuard: detects whether this process is a fork() child of the one that made the guard. A child
// has its parent's memory and descriptors but only one thread: a mutex that another thread held is
// never unlocked, and an endpoint would send in the parent's name. own_mutex.h, own_process.h and
// per_process.h are built on it.
#pragma once

#include <atomic>
#include <cstdint>

namespace heddle {

namespace detail {
inline constinit std::atomic<uint64_t> forks{0};
}  // namespace detail

// Number of forks in this process's ancestry since program start; no system call, no lock.
inline uint64_t fork_generation() { return detail::forks.load(std::memory_order_relaxed); }

class ForkGuard {
 public:
  ForkGuard();
  bool in_child() const { return generation_ != fork_generation(); }

 private:
  uint64_t generation_;
};

}  // namespace heddle
