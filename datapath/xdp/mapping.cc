// See mapping.h.
#include "datapath/xdp/mapping.h"

#include <sys/mman.h>

namespace heddle::datapath {

Mapping::Mapping(void* start, size_t bytes) {
  if (start == MAP_FAILED) return;
  start_ = static_cast<std::byte*>(start);
  bytes_ = bytes;
}

Mapping Mapping::ring(int socket, size_t bytes, uint64_t offset) {
  return {mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket,
               static_cast<off_t>(offset)),
          bytes};
}

Mapping Mapping::memory(size_t bytes) {
  Mapping made(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
               bytes);
  if (made.start_ == nullptr) return made;
  madvise(made.start_, bytes, MADV_HUGEPAGE);
  madvise(made.start_, bytes, MADV_DONTFORK);
  return made;
}

Mapping::~Mapping() {
  if (start_ != nullptr) munmap(start_, bytes_);
}

}  // namespace heddle::datapath
