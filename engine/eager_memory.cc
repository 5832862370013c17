// EagerMemory: see eager_memory.h.
#include "engine/eager_memory.h"

#include <sys/mman.h>

namespace heddle::engine {

EagerMemory::EagerMemory(Bytes size) {
  if (size.count == 0) return;
  void* const start = mmap(nullptr, size.count, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return;
  start_ = static_cast<std::byte*>(start);
  bytes_ = size.count;
}

EagerMemory::~EagerMemory() {
  if (start_ != nullptr) munmap(start_, bytes_);
}

}  // namespace heddle::engine
