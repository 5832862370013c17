// What CUDA says of devices, where one of its libraries is loaded.
#pragma once

#include "plugins/nccl/trace/cuda_calls.h"

namespace heddle::nccl::trace {

// The calling thread's device; kUnknownDevice where there is none.
int current_device();
// The device in whose memory the address is; kUnknownDevice for host memory and unknown addresses.
int device_of_address(CudaPointer address);

}  // namespace heddle::nccl::trace
