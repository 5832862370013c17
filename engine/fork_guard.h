// ForkGuard: knows whether this process is the one in which it was made. After fork() a child has
// the memory and descriptors of an endpoint but none of its threads; using it there would speak
// with the parent's voice, so the engine refuses.
#pragma once

#include <cstdint>

namespace heddle::engine {

// How often this line of processes has forked since the program began; no system call.
uint64_t fork_generation();

class ForkGuard {
 public:
  ForkGuard() : generation_(fork_generation()) {}
  bool in_child() const { return generation_ != fork_generation(); }

 private:
  uint64_t generation_;
};

}  // namespace heddle::engine
