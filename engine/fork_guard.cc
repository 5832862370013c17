// ForkGuard: see fork_guard.h.
#include "engine/fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace heddle::engine {
namespace {

std::atomic<uint64_t>& generation() {
  static std::atomic<uint64_t> count{0};
  return count;
}

bool watch_forks() {
  return pthread_atfork(nullptr, nullptr, [] { generation().fetch_add(1); }) == 0;
}

}  // namespace

uint64_t fork_generation() {
  static const bool watching = watch_forks();
  static_cast<void>(watching);
  return generation().load(std::memory_order_relaxed);
}

}  // namespace heddle::engine
