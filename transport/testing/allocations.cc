// The replaced operators: malloc and free, and the counters.
#include "transport/testing/allocations.h"

#include <malloc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace heddle::transport::testing {
namespace {

thread_local bool counts = false;
thread_local Allocations counted;
thread_local int64_t limit = INT64_MAX;

void* give(std::size_t bytes) {
  if (counts && (bytes > static_cast<uint64_t>(limit) ||
                 counted.live_bytes > limit - static_cast<int64_t>(bytes))) {
    std::fputs("more is allocated than the limit allows\n", stderr);
    std::abort();
  }
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (counts) {
    ++counted.count;
    counted.live_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  }
  return memory;
}

void take_back(void* memory) noexcept {
  if (counts && memory != nullptr) {
    counted.live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  }
  std::free(memory);
}

}  // namespace

Allocations allocations() { return counted; }
void count_allocations(bool counting) { counts = counting; }
void limit_allocations(int64_t live_bytes) { limit = live_bytes; }

}  // namespace heddle::transport::testing

void* operator new(std::size_t bytes) { return heddle::transport::testing::give(bytes); }
void* operator new[](std::size_t bytes) { return heddle::transport::testing::give(bytes); }
void operator delete(void* memory) noexcept { heddle::transport::testing::take_back(memory); }
void operator delete[](void* memory) noexcept { heddle::transport::testing::take_back(memory); }
void operator delete(void* memory, std::size_t) noexcept {
  heddle::transport::testing::take_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  heddle::transport::testing::take_back(memory);
}
