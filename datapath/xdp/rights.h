// What a process must be allowed to do for AF_XDP, and the errors that say what is missing.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace heddle::datapath {

// kPermission, with the capabilities that the calling thread lacks; else success.
Result<void> check_xdp_rights();
// kPermission: all capabilities are there, but the kernel refused `step`.
Error xdp_refused(const std::string& step);
// kExhausted: `bytes` cannot be locked in memory.
Error xdp_memory_exhausted(size_t bytes);
// Raises the limit of locked memory as far as any process may.
void raise_locked_memory_limit();

}  // namespace heddle::datapath
