// The wrappers of CUDA's copies between devices. The runtime's peer copies name the devices; of the
// driver's, and of plain copies (where HEDDLE_NCCL_TRACE_COPIES asks for them), the addresses do.
#include "plugins/nccl/trace/cuda_calls.h"
#include "plugins/nccl/trace/cuda_devices.h"
#include "plugins/nccl/trace/forward.h"

namespace heddle::nccl::trace {
namespace {

CudaPointer address_of(const void* memory) { return reinterpret_cast<CudaPointer>(memory); }

auto between_devices(int from, int to, size_t bytes) {
  return [=](const Trace& /*trace*/) { return Copy{from, to, bytes}; };
}

auto between_addresses(CudaPointer from, CudaPointer to, size_t bytes) {
  return [=](const Trace& /*trace*/) {
    return Copy{device_of_address(from), device_of_address(to), bytes};
  };
}

auto of_kind(const void* from, const void* to, size_t bytes, int kind) {
  return [=](const Trace& trace) {
    const bool asked =
        trace.settings().plain_copies && (kind == kDeviceToDevice || kind == kCopyByAddresses);
    if (!asked) return Copy{};
    return Copy{device_of_address(address_of(from)), device_of_address(address_of(to)), bytes};
  };
}

// Between arrays the width counts elements, whose size is not known here.
auto of_volume(const Copy3DPeer* copy) {
  return [=](const Trace& /*trace*/) {
    if (copy == nullptr) return Copy{};
    return Copy{copy->from_device, copy->to_device, copy->width_bytes * copy->height * copy->depth};
  };
}

}  // namespace

extern "C" {

CudaStatus cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                          size_t bytes) {
  return pass_copy<"cudaMemcpyPeer">(cudaMemcpyPeer, between_devices(from_device, to_device, bytes),
                                     to, to_device, from, from_device, bytes);
}

CudaStatus cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                               size_t bytes, CudaStream stream) {
  return pass_copy<"cudaMemcpyPeerAsync">(cudaMemcpyPeerAsync,
                                          between_devices(from_device, to_device, bytes), to,
                                          to_device, from, from_device, bytes, stream);
}

CudaStatus cudaMemcpy3DPeer(const Copy3DPeer* copy) {
  return pass_copy<"cudaMemcpy3DPeer">(cudaMemcpy3DPeer, of_volume(copy), copy);
}

CudaStatus cudaMemcpy3DPeer_ptds(const Copy3DPeer* copy) {
  return pass_copy<"cudaMemcpy3DPeer_ptds">(cudaMemcpy3DPeer_ptds, of_volume(copy), copy);
}

CudaStatus cudaMemcpy3DPeerAsync(const Copy3DPeer* copy, CudaStream stream) {
  return pass_copy<"cudaMemcpy3DPeerAsync">(cudaMemcpy3DPeerAsync, of_volume(copy), copy, stream);
}

CudaStatus cudaMemcpy3DPeerAsync_ptsz(const Copy3DPeer* copy, CudaStream stream) {
  return pass_copy<"cudaMemcpy3DPeerAsync_ptsz">(cudaMemcpy3DPeerAsync_ptsz, of_volume(copy), copy,
                                                 stream);
}

CudaStatus cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
  return pass_copy<"cudaMemcpy">(cudaMemcpy, of_kind(from, to, bytes, kind), to, from, bytes, kind);
}

CudaStatus cudaMemcpy_ptds(void* to, const void* from, size_t bytes, int kind) {
  return pass_copy<"cudaMemcpy_ptds">(cudaMemcpy_ptds, of_kind(from, to, bytes, kind), to, from,
                                      bytes, kind);
}

CudaStatus cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, CudaStream stream) {
  return pass_copy<"cudaMemcpyAsync">(cudaMemcpyAsync, of_kind(from, to, bytes, kind), to, from,
                                      bytes, kind, stream);
}

CudaStatus cudaMemcpyAsync_ptsz(void* to, const void* from, size_t bytes, int kind,
                                CudaStream stream) {
  return pass_copy<"cudaMemcpyAsync_ptsz">(cudaMemcpyAsync_ptsz, of_kind(from, to, bytes, kind), to,
                                           from, bytes, kind, stream);
}

CudaStatus cuMemcpyPeer(CudaPointer to, CudaContext to_context, CudaPointer from,
                        CudaContext from_context, size_t bytes) {
  return pass_copy<"cuMemcpyPeer">(cuMemcpyPeer, between_addresses(from, to, bytes), to, to_context,
                                   from, from_context, bytes);
}

CudaStatus cuMemcpyPeer_ptds(CudaPointer to, CudaContext to_context, CudaPointer from,
                             CudaContext from_context, size_t bytes) {
  return pass_copy<"cuMemcpyPeer_ptds">(cuMemcpyPeer_ptds, between_addresses(from, to, bytes), to,
                                        to_context, from, from_context, bytes);
}

CudaStatus cuMemcpyPeerAsync(CudaPointer to, CudaContext to_context, CudaPointer from,
                             CudaContext from_context, size_t bytes, CudaStream stream) {
  return pass_copy<"cuMemcpyPeerAsync">(cuMemcpyPeerAsync, between_addresses(from, to, bytes), to,
                                        to_context, from, from_context, bytes, stream);
}

CudaStatus cuMemcpyPeerAsync_ptsz(CudaPointer to, CudaContext to_context, CudaPointer from,
                                  CudaContext from_context, size_t bytes, CudaStream stream) {
  return pass_copy<"cuMemcpyPeerAsync_ptsz">(cuMemcpyPeerAsync_ptsz,
                                             between_addresses(from, to, bytes), to, to_context,
                                             from, from_context, bytes, stream);
}

}  // extern "C"

}  // namespace heddle::nccl::trace
