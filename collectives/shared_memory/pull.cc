// Pull: see pull.h.
#include "collectives/shared_memory/pull.h"

#include <sys/uio.h>

namespace heddle::collectives {

bool pull(int32_t process, uint64_t address, std::byte* to, size_t bytes) {
  while (bytes > 0) {
    iovec here{.iov_base = to, .iov_len = bytes};
    // An address of the other process; it means nothing in this one.
    iovec there{.iov_base = reinterpret_cast<void*>(address), .iov_len = bytes};
    const ssize_t got = process_vm_readv(process, &here, 1, &there, 1, 0);
    if (got <= 0) return false;
    to += got;
    address += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace heddle::collectives
