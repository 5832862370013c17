// Handles, results and the few numbers of CUDA's public interface that the stand-in uses.
#pragma once

#include <memory>

#include "tests/nccl/cuda_stand_in/stream.h"

namespace heddle::cuda_stand_in {

// cudaError_t and CUresult have the same values for these.
enum CudaResult : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotFound = 500,
  kNotReady = 600,
  kNotSupported = 801,
};

// Writes a result through a pointer and succeeds.
template <typename Value, typename Given>
int give(Value* to, Given value) {
  *to = value;
  return kSuccess;
}

// What a cudaStream_t points to; null, 1 and 2 mean the default stream.
using StreamHandle = Stream*;
// What a cudaEvent_t points to.
struct EventHandle {
  std::shared_ptr<Event> event;
};

Stream& stream_of(StreamHandle handle);

// Runs the kernel of NCCL that `arguments` describe on a stream; kNotSupported, and a line on
// standard error, if the stand-in cannot play it.
CudaResult launch(StreamHandle stream, const char* arguments, size_t bytes);

}  // namespace heddle::cuda_stand_in
