// Counts the allocations of this test program; see testing/allocations.h.
#include <atomic>
#include <cstdlib>
#include <new>

#include "datapath/udp/testing/allocations.h"

namespace heddle::datapath {
namespace {

std::atomic<uint64_t>& count() {
  static std::atomic<uint64_t> value{0};
  return value;
}

void* allocate(std::size_t bytes) {
  count().fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

uint64_t allocations() { return count().load(); }

}  // namespace heddle::datapath

void* operator new(std::size_t bytes) { return heddle::datapath::allocate(bytes); }
void* operator new[](std::size_t bytes) { return heddle::datapath::allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
