// The functions of the CUDA driver that NCCL asks the runtime for by name. There is no libcuda.so:
// those that are not in the table do not exist, and NCCL does without them.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "tests/nccl/cuda_stand_in/handles.h"
#include "tests/nccl/cuda_stand_in/point_to_point_kernel.h"

namespace heddle::cuda_stand_in {
namespace {

int error_text(int result, const char** text) {
  *text = result == kSuccess ? "no error" : "error of the CUDA stand-in";
  return kSuccess;
}
int device_get(int* device, int ordinal) { return give(device, ordinal); }
int device_get_attribute(int* value, int, int) { return give(value, 0); }
int device_get_uuid(void* uuid, int) {
  std::memset(uuid, 1, 16);
  return kSuccess;
}
int context_get_current(void** context) {
  static char only = 0;
  return give(context, &only);
}
int context_set_current(void*) { return kSuccess; }
int context_get_device(int* device) { return give(device, 0); }

struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  StreamHandle stream;
  void* attributes;
  unsigned attribute_count;
};

// `extra` names a buffer of arguments: 1, the buffer, 2, the address of its size, 0.
int launch_with(StreamHandle stream, void** extra) {
  return launch(stream, static_cast<const char*>(extra[1]), *static_cast<size_t*>(extra[3]));
}
int launch_kernel_ex(const LaunchConfig* config, const void*, void**, void** extra) {
  return extra == nullptr ? kNotSupported : launch_with(config->stream, extra);
}

struct Entry {
  std::string_view name;
  void* function;
};

template <typename Function>
Entry entry(std::string_view name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

void* find(std::string_view name) {
  static const std::array entries = {
      entry("cuGetErrorString", error_text),
      entry("cuGetErrorName", error_text),
      entry("cuDeviceGet", device_get),
      entry("cuDeviceGetAttribute", device_get_attribute),
      entry("cuDeviceGetUuid", device_get_uuid),
      entry("cuCtxGetCurrent", context_get_current),
      entry("cuCtxSetCurrent", context_set_current),
      entry("cuCtxGetDevice", context_get_device),
      entry("cuLaunchKernelEx", launch_kernel_ex),
  };
  for (const Entry& each : entries) {
    if (each.name == name) return each.function;
  }
  return nullptr;
}

}  // namespace

CudaResult launch(StreamHandle stream, const char* arguments, size_t bytes) {
  const std::string reason = unsupported_reason(arguments, bytes);
  if (!reason.empty()) {
    std::fprintf(stderr, "CUDA stand-in: %s\n", reason.c_str());
    return kNotSupported;
  }
  // NCCL may reuse its buffer as soon as the launch returns.
  constexpr size_t kAlignment = 16;
  std::shared_ptr<char> copy(static_cast<char*>(std::aligned_alloc(
                                 kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment)),
                             std::free);
  std::memcpy(copy.get(), arguments, bytes);
  stream_of(stream).submit([copy] { run_kernel(copy.get()); });
  return kSuccess;
}

extern "C" int cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                uint64_t, int* status) {
  *function = find(name);
  if (status != nullptr) *status = *function == nullptr ? 1 : 0;  // 1: no such symbol
  return kSuccess;
}

}  // namespace heddle::cuda_stand_in
