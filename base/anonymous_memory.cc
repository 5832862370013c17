// AnonymousMemory: see anonymous_memory.h.
#include "base/anonymous_memory.h"

#include <sys/mman.h>

#include <utility>

namespace heddle {

AnonymousMemory::AnonymousMemory(Bytes size) {
  if (size.count == 0) return;
  void* const start = mmap(nullptr, size.count, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return;
  start_ = static_cast<std::byte*>(start);
  bytes_ = size.count;
}

AnonymousMemory::AnonymousMemory(AnonymousMemory&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

AnonymousMemory& AnonymousMemory::operator=(AnonymousMemory&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

AnonymousMemory::~AnonymousMemory() {
  if (start_ != nullptr) munmap(start_, bytes_);
}

}  // namespace heddle
