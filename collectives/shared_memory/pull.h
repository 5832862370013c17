// Pull: reading another process's memory, one copy from there to here (process_vm_readv). The
// kernel permits it between processes of one user; containers and Yama mostly do not.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::collectives {

// False: not all of it could be read; errno says why.
bool pull(int32_t process, uint64_t address, std::byte* to, size_t bytes);

}  // namespace heddle::collectives
