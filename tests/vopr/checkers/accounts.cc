// The replaced operators: see accounts.h. Each block is preceded by its size and its account.
#include "tests/vopr/checkers/accounts.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

namespace heddle::vopr {
namespace {

struct Tag {
  uint64_t bytes;
  uint32_t account;
  uint32_t unused;
};
static_assert(sizeof(Tag) == 16);

uint32_t current = kNobodysAccount;
int64_t held[kAccounts] = {};

// Not a CHECK, which would allocate.
void end_over_limit(uint64_t bytes) {
  char line[160];
  const int length = std::snprintf(
      line, sizeof line, "the endpoint of host %u asks for %llu bytes, and holds %lld already\n",
      current - 1, static_cast<unsigned long long>(bytes), static_cast<long long>(held[current]));
  const ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(length));
  static_cast<void>(written);
  std::abort();
}

void* give(size_t bytes, size_t alignment) {
  if (current != kNobodysAccount &&
      (bytes > static_cast<uint64_t>(kMostOnAnAccount) ||
       held[current] + static_cast<int64_t>(bytes) > kMostOnAnAccount)) {
    end_over_limit(bytes);
  }
  const size_t front = std::max(alignment, sizeof(Tag));
  const size_t whole = (front + bytes + front - 1) / front * front;
  auto* memory = static_cast<std::byte*>(front == sizeof(Tag) ? std::malloc(whole)
                                                              : std::aligned_alloc(front, whole));
  if (memory == nullptr) throw std::bad_alloc();
  new (memory + front - sizeof(Tag)) Tag{bytes, current, 0};
  held[current] += static_cast<int64_t>(bytes);
  return memory + front;
}

void take_back(void* block, size_t alignment) noexcept {
  if (block == nullptr) return;
  auto* bytes = static_cast<std::byte*>(block);
  const Tag& tag = *reinterpret_cast<const Tag*>(bytes - sizeof(Tag));
  held[tag.account] -= static_cast<int64_t>(tag.bytes);
  std::free(bytes - std::max(alignment, sizeof(Tag)));
}

}  // namespace

uint32_t charge(uint32_t account) { return std::exchange(current, account); }

int64_t bytes_on(uint32_t account) { return held[account]; }

}  // namespace heddle::vopr

void* operator new(size_t bytes) { return heddle::vopr::give(bytes, 1); }
void* operator new[](size_t bytes) { return heddle::vopr::give(bytes, 1); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return heddle::vopr::give(bytes, static_cast<size_t>(alignment));
}
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return heddle::vopr::give(bytes, static_cast<size_t>(alignment));
}
// The nothrow variants: used by the standard library's algorithms, and otherwise provided by
// sanitizers.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return heddle::vopr::give(bytes, 1);
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept {
  return heddle::vopr::give(bytes, 1);
}
void operator delete(void* block, const std::nothrow_t&) noexcept {
  heddle::vopr::take_back(block, 1);
}
void operator delete[](void* block, const std::nothrow_t&) noexcept {
  heddle::vopr::take_back(block, 1);
}
void operator delete(void* block) noexcept { heddle::vopr::take_back(block, 1); }
void operator delete[](void* block) noexcept { heddle::vopr::take_back(block, 1); }
void operator delete(void* block, size_t) noexcept { heddle::vopr::take_back(block, 1); }
void operator delete[](void* block, size_t) noexcept { heddle::vopr::take_back(block, 1); }
void operator delete(void* block, std::align_val_t alignment) noexcept {
  heddle::vopr::take_back(block, static_cast<size_t>(alignment));
}
void operator delete[](void* block, std::align_val_t alignment) noexcept {
  heddle::vopr::take_back(block, static_cast<size_t>(alignment));
}
void operator delete(void* block, size_t, std::align_val_t alignment) noexcept {
  heddle::vopr::take_back(block, static_cast<size_t>(alignment));
}
void operator delete[](void* block, size_t, std::align_val_t alignment) noexcept {
  heddle::vopr::take_back(block, static_cast<size_t>(alignment));
}
