// The functions of the CUDA runtime (libcudart.so) that NCCL's host side calls, for one device
// whose memory is host memory. Each does what CUDA's documentation says as far as NCCL depends on
// it. Functions that NCCL links but that this device lacks are listed in CMakeLists.txt.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/nccl/cuda_stand_in/handles.h"

namespace heddle::cuda_stand_in {
namespace {

constexpr size_t kDeviceBytes = size_t{1} << 34;

// What cudaMalloc and cudaHostAlloc gave out, by address. Other memory is "pageable".
class Allocations {
 public:
  static Allocations& all() {
    static auto* const only = new Allocations;
    return *only;
  }

  CudaResult allocate(void** memory, size_t bytes) {
    constexpr size_t kAlignment = 4096;
    const size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
    *memory = std::aligned_alloc(kAlignment, rounded);
    if (*memory == nullptr) return kOutOfMemory;
    std::lock_guard lock(mutex_);
    bytes_[static_cast<const char*>(*memory)] = rounded;
    return kSuccess;
  }

  void free(void* memory) {
    std::lock_guard lock(mutex_);
    bytes_.erase(static_cast<const char*>(memory));
    std::free(memory);
  }

  bool has(const void* memory) {
    const auto* address = static_cast<const char*>(memory);
    std::lock_guard lock(mutex_);
    const auto after = bytes_.upper_bound(address);
    if (after == bytes_.begin()) return false;
    const auto& [start, bytes] = *std::prev(after);
    return address < start + bytes;
  }

 private:
  std::mutex mutex_;
  std::map<const char*, size_t> bytes_;
};

CudaResult allocate_into(void** memory, size_t bytes) {
  return Allocations::all().allocate(memory, bytes);
}

// By the numbers of cudaDeviceAttr. Zero for what the device does not have.
int attribute_value(int attribute) {
  switch (attribute) {
    case 16:
      return 16;  // multiprocessors
    case 75:
      return 8;  // compute capability 8.0: no clusters, no NVLink SHARP
    case 81:
      return 167936;  // shared memory of a multiprocessor, bytes
    case 97:
      return 166912;  // and of a block
    default:
      return 0;
  }
}

}  // namespace

Stream& stream_of(StreamHandle handle) {
  static Stream* const standard = Stream::create().release();
  return reinterpret_cast<uintptr_t>(handle) <= 2 ? *standard : *handle;
}

extern "C" {

int cudaGetDeviceCount(int* count) { return give(count, 1); }
int cudaGetDevice(int* device) { return give(device, 0); }
int cudaSetDevice(int device) { return device == 0 ? kSuccess : kInvalidValue; }
int cudaDriverGetVersion(int* version) { return give(version, 13000); }
int cudaRuntimeGetVersion(int* version) { return give(version, 13000); }
int cudaGetLastError() { return kSuccess; }
int cudaPeekAtLastError() { return kSuccess; }
const char* cudaGetErrorString(int error) {
  return error == kSuccess ? "no error" : "error of the CUDA stand-in";
}
int cudaDeviceSetLimit(int, size_t) { return kSuccess; }
int cudaDeviceGetAttribute(int* value, int attribute, int) {
  return give(value, attribute_value(attribute));
}
int cudaDeviceGetPCIBusId(char* text, int bytes, int) {
  std::snprintf(text, static_cast<size_t>(bytes), "0000:01:00.0");
  return kSuccess;
}
int cudaDeviceCanAccessPeer(int* can, int, int) { return give(can, 0); }

// Writes what NCCL reads: the memory's size, behind the name (256 bytes), UUID, LUID and node mask.
int cudaGetDeviceProperties(void* properties, int) {
  std::memset(properties, 0, 512);
  std::memcpy(static_cast<char*>(properties) + 288, &kDeviceBytes, sizeof(kDeviceBytes));
  return kSuccess;
}

int cudaMalloc(void** memory, size_t bytes) { return allocate_into(memory, bytes); }
int cudaHostAlloc(void** memory, size_t bytes, unsigned) { return allocate_into(memory, bytes); }
int cudaFree(void* memory) {
  Allocations::all().free(memory);
  return kSuccess;
}
int cudaFreeHost(void* memory) {
  Allocations::all().free(memory);
  return kSuccess;
}
int cudaHostRegister(void*, size_t, unsigned) { return kSuccess; }
int cudaHostUnregister(void*) { return kSuccess; }
int cudaHostGetDevicePointer(void** device, void* host, unsigned) { return give(device, host); }
int cudaMallocFromPoolAsync(void** memory, size_t bytes, void*, StreamHandle) {
  return allocate_into(memory, bytes);
}
int cudaMallocAsync(void** memory, size_t bytes, StreamHandle) {
  return allocate_into(memory, bytes);
}
int cudaFreeAsync(void* memory, StreamHandle stream) {
  stream_of(stream).submit([memory] { Allocations::all().free(memory); });
  return kSuccess;
}
int cudaMemPoolCreate(void** pool, const void*) {
  static char only = 0;
  return give(pool, &only);
}
int cudaMemPoolDestroy(void*) { return kSuccess; }
int cudaMemPoolSetAttribute(void*, int, void*) { return kSuccess; }

int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int, StreamHandle stream) {
  if (Allocations::all().has(from)) {
    stream_of(stream).submit([=] { std::memmove(to, from, bytes); });
    return kSuccess;
  }
  // Pageable memory is read before the call returns: NCCL copies from its stack.
  const auto* start = static_cast<const char*>(from);
  stream_of(stream).submit([to, copy = std::vector<char>(start, start + bytes)] {
    std::memcpy(to, copy.data(), copy.size());
  });
  return kSuccess;
}
int cudaMemcpy(void* to, const void* from, size_t bytes, int) {
  std::memmove(to, from, bytes);
  return kSuccess;
}
int cudaMemsetAsync(void* memory, int value, size_t bytes, StreamHandle stream) {
  stream_of(stream).submit([=] { std::memset(memory, value, bytes); });
  return kSuccess;
}
int cudaMemset(void* memory, int value, size_t bytes) {
  std::memset(memory, value, bytes);
  return kSuccess;
}

int cudaStreamCreateWithFlags(StreamHandle* stream, unsigned) {
  *stream = Stream::create().release();
  return *stream == nullptr ? kOutOfMemory : kSuccess;
}
int cudaStreamCreate(StreamHandle* stream) { return cudaStreamCreateWithFlags(stream, 0); }
int cudaStreamDestroy(StreamHandle stream) {
  delete stream;
  return kSuccess;
}
int cudaStreamSynchronize(StreamHandle stream) {
  stream_of(stream).synchronize();
  return kSuccess;
}
int cudaStreamWaitEvent(StreamHandle stream, EventHandle* event, unsigned) {
  event->event->wait_on(stream_of(stream));
  return kSuccess;
}
int cudaStreamIsCapturing(StreamHandle, int* status) { return give(status, 0); }
int cudaStreamGetCaptureInfo(StreamHandle, int* status, uint64_t*, void**, const void***,
                             const void***, size_t*) {
  return give(status, 0);
}
int cudaThreadExchangeStreamCaptureMode(int*) { return kSuccess; }
int cudaLaunchHostFunc(StreamHandle stream, void (*function)(void*), void* data) {
  stream_of(stream).submit([=] { function(data); });
  return kSuccess;
}

int cudaEventCreateWithFlags(EventHandle** event, unsigned) {
  *event = new EventHandle{std::make_shared<Event>()};
  return kSuccess;
}
int cudaEventCreate(EventHandle** event) { return cudaEventCreateWithFlags(event, 0); }
int cudaEventDestroy(EventHandle* event) {
  delete event;
  return kSuccess;
}
int cudaEventRecord(EventHandle* event, StreamHandle stream) {
  event->event->record(stream_of(stream));
  return kSuccess;
}
int cudaEventQuery(EventHandle* event) { return event->event->reached() ? kSuccess : kNotReady; }
int cudaEventSynchronize(EventHandle* event) {
  event->event->synchronize();
  return kSuccess;
}

// Kernels are known by their symbol; there is no code to load.
int cudaFuncGetAttributes(void*, const void*) { return kSuccess; }
int cudaFuncSetAttribute(const void*, int, int) { return kSuccess; }
int cudaGetFuncBySymbol(const void** function, const void* symbol) {
  return give(function, symbol);
}
void** __cudaRegisterFatBinary(void*) {
  static void* only = nullptr;
  return &only;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction() {}
void __cudaRegisterVar() {}
char __cudaInitModule(void**) { return 1; }
int __cudaGetKernel(const void** kernel, const void* symbol) { return give(kernel, symbol); }

// The address of functions that this device lacks (CMakeLists.txt).
int cuda_stand_in_unsupported() { return kNotSupported; }

}  // extern "C"
}  // namespace heddle::cuda_stand_in
