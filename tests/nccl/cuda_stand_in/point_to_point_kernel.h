// Plays the part of NCCL's kernel for ncclSend and ncclRecv: copies between user memory and the
// buffers of a connection and counts steps, in protocol Simple. NCCL's proxy moves the buffers.
#pragma once

#include <cstddef>
#include <string>

namespace heddle::cuda_stand_in {

// Empty if run_kernel() can play a launch with these arguments, else the reason. `arguments` are
// the `bytes` bytes that NCCL passes to its kernel.
std::string unsupported_reason(const char* arguments, size_t bytes);

// Returns when all transfers of the launch are complete or NCCL's abort flag is set. Blocks of the
// grid take turns in the calling thread, so transfers that depend on one another progress.
void run_kernel(const char* arguments);

}  // namespace heddle::cuda_stand_in
