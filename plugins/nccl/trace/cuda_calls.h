// The copies between GPUs that this library wraps: CUDA's runtime (cudaMemcpy...) and driver
// (cuMemcpy...), as declared by CUDA 11 to 13; own declarations, so that no CUDA header is needed.
// The names with _ptds and _ptsz are those of programs with a default stream for each thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::nccl::trace {

using CudaStatus = int;        // cudaError_t, CUresult; 0: success
using CudaStream = void*;      // cudaStream_t, CUstream
using CudaContext = void*;     // CUcontext
using CudaPointer = uint64_t;  // CUdeviceptr

inline constexpr int kDeviceToDevice = 3;  // cudaMemcpyKind
inline constexpr int kCopyByAddresses = 4;

// cudaMemcpy3DPeerParms
struct Copy3DPeer {
  void* from_array;
  size_t from_place[3];
  struct {
    void* memory;
    size_t pitch, width, height;
  } from;
  int from_device;
  void* to_array;
  size_t to_place[3];
  struct {
    void* memory;
    size_t pitch, width, height;
  } to;
  int to_device;
  size_t width_bytes, height, depth;
};
static_assert(offsetof(Copy3DPeer, from_device) == 64 && offsetof(Copy3DPeer, to_device) == 136 &&
              offsetof(Copy3DPeer, width_bytes) == 144 && sizeof(Copy3DPeer) == 168);

extern "C" {

CudaStatus cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes);
CudaStatus cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                               size_t bytes, CudaStream stream);
CudaStatus cudaMemcpy3DPeer(const Copy3DPeer* copy);
CudaStatus cudaMemcpy3DPeer_ptds(const Copy3DPeer* copy);
CudaStatus cudaMemcpy3DPeerAsync(const Copy3DPeer* copy, CudaStream stream);
CudaStatus cudaMemcpy3DPeerAsync_ptsz(const Copy3DPeer* copy, CudaStream stream);
CudaStatus cudaMemcpy(void* to, const void* from, size_t bytes, int kind);
CudaStatus cudaMemcpy_ptds(void* to, const void* from, size_t bytes, int kind);
CudaStatus cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, CudaStream stream);
CudaStatus cudaMemcpyAsync_ptsz(void* to, const void* from, size_t bytes, int kind,
                                CudaStream stream);

CudaStatus cuMemcpyPeer(CudaPointer to, CudaContext to_context, CudaPointer from,
                        CudaContext from_context, size_t bytes);
CudaStatus cuMemcpyPeer_ptds(CudaPointer to, CudaContext to_context, CudaPointer from,
                             CudaContext from_context, size_t bytes);
CudaStatus cuMemcpyPeerAsync(CudaPointer to, CudaContext to_context, CudaPointer from,
                             CudaContext from_context, size_t bytes, CudaStream stream);
CudaStatus cuMemcpyPeerAsync_ptsz(CudaPointer to, CudaContext to_context, CudaPointer from,
                                  CudaContext from_context, size_t bytes, CudaStream stream);

}  // extern "C"

}  // namespace heddle::nccl::trace
