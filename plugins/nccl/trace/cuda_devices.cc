// See cuda_devices.h.
#include "plugins/nccl/trace/cuda_devices.h"

#include "plugins/nccl/trace/device_recording.h"
#include "plugins/nccl/trace/next_function.h"

namespace heddle::nccl::trace {

int current_device() {
  int device = kUnknownDevice;
  const auto runtime = other_function<"cudaGetDevice", int(int*)>();
  if (runtime != nullptr && runtime(&device) == 0) return device;
  const auto driver = other_function<"cuCtxGetDevice", int(int*)>();
  if (driver != nullptr && driver(&device) == 0) return device;
  return kUnknownDevice;
}

int device_of_address(CudaPointer address) {
  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE with CU_MEMORYTYPE_DEVICE, then
  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  constexpr int kMemoryType = 2;
  constexpr int kDeviceMemory = 2;
  constexpr int kOrdinal = 9;
  const auto ask = other_function<"cuPointerGetAttribute", int(void*, int, CudaPointer)>();
  int type = 0;
  int device = kUnknownDevice;
  const bool known = ask != nullptr && ask(&type, kMemoryType, address) == 0 &&
                     type == kDeviceMemory && ask(&device, kOrdinal, address) == 0;
  return known ? device : kUnknownDevice;
}

}  // namespace heddle::nccl::trace
