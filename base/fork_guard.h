// ForkGuard: knows whether this process is the one in which it was made. After fork() a child has
// the memory and descriptors of its parent but one thread only: a lock that another thread held is
// held there for ever, and an endpoint would speak with the parent's voice. own_mutex.h,
// own_process.h and per_process.h are made of it.
#pragma once

#include <atomic>
#include <cstdint>

namespace heddle {

namespace detail {
inline constinit std::atomic<uint64_t> forks{0};
}  // namespace detail

// How often this line of processes has forked since the program began; no system call, no lock.
inline uint64_t fork_generation() { return detail::forks.load(std::memory_order_relaxed); }

class ForkGuard {
 public:
  ForkGuard();
  bool in_child() const { return generation_ != fork_generation(); }

 private:
  uint64_t generation_;
};

}  // namespace heddle
