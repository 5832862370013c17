// A stand-in for CUDA's runtime and driver, for tests: it logs every copy (standin_log.h). An
// address below 1 MiB is the host's; above, its top 8 bits of 40 are the device. Its symbols have
// versions, as the runtime's do.
#include "plugins/nccl/trace/cuda_calls.h"
#include "plugins/nccl/trace/testing/standin_log.h"

namespace heddle::nccl::trace {

using testing::log_call;

namespace {

constexpr size_t kFailingBytes = 13;

int status_of_bytes(size_t bytes) { return bytes == kFailingBytes ? 1 : 0; }

}  // namespace

extern "C" {

int cudaGetDevice(int* device) {
  const char* const text = std::getenv("STANDIN_DEVICE");
  *device = text == nullptr ? 0 : std::atoi(text);
  return 0;
}

int cuPointerGetAttribute(void* out, int attribute, CudaPointer address) {
  const bool host = address < (1u << 20);
  *static_cast<int*>(out) = attribute == 2 ? (host ? 1 : 2) : static_cast<int>(address >> 32);
  return 0;
}

CudaStatus cuMemcpyPeerAsync(CudaPointer to, CudaContext to_context, CudaPointer from,
                             CudaContext from_context, size_t bytes, CudaStream stream) {
  log_call("cuMemcpyPeerAsync", to, to_context, from, from_context, bytes, stream);
  return status_of_bytes(bytes);
}
CudaStatus cuMemcpyPeer(CudaPointer to, CudaContext to_context, CudaPointer from,
                        CudaContext from_context, size_t bytes) {
  log_call("cuMemcpyPeer", to, to_context, from, from_context, bytes);
  return status_of_bytes(bytes);
}

CudaStatus cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                          size_t bytes) {
  log_call("cudaMemcpyPeer", to, to_device, from, from_device, bytes);
  // The runtime calls the driver.
  return cuMemcpyPeer(reinterpret_cast<CudaPointer>(to), nullptr,
                      reinterpret_cast<CudaPointer>(from), nullptr, bytes);
}
CudaStatus cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                               size_t bytes, CudaStream stream) {
  log_call("cudaMemcpyPeerAsync", to, to_device, from, from_device, bytes, stream);
  return status_of_bytes(bytes);
}
CudaStatus cudaMemcpy3DPeer(const Copy3DPeer* copy) {
  log_call("cudaMemcpy3DPeer", copy);
  return status_of_bytes(copy->width_bytes);
}
CudaStatus cudaMemcpy3DPeerAsync(const Copy3DPeer* copy, CudaStream stream) {
  log_call("cudaMemcpy3DPeerAsync", copy, stream);
  return status_of_bytes(copy->width_bytes);
}
CudaStatus cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
  log_call("cudaMemcpy", to, from, bytes, kind);
  return status_of_bytes(bytes);
}
CudaStatus cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, CudaStream stream) {
  log_call("cudaMemcpyAsync", to, from, bytes, kind, stream);
  return status_of_bytes(bytes);
}

}  // extern "C"

}  // namespace heddle::nccl::trace
