// See mapping.h.
#include "datapath/xdp/mapping.h"

#include <linux/if_xdp.h>
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

Mapping map_ring(int socket, const RingShape& shape, RingPlace& place) {
  const xdp_ring_offset& parts = shape.parts;
  Mapping mapping = Mapping::ring(socket, parts.desc + shape.size * shape.entry_bytes, shape.page);
  if (mapping.start() == nullptr) return mapping;
  place.producer = reinterpret_cast<uint32_t*>(mapping.start() + parts.producer);
  place.consumer = reinterpret_cast<uint32_t*>(mapping.start() + parts.consumer);
  place.flags = reinterpret_cast<uint32_t*>(mapping.start() + parts.flags);
  place.entries = mapping.start() + parts.desc;
  place.size = shape.size;
  return mapping;
}

}  // namespace heddle::datapath
