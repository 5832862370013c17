// CallMemory: the memory of one call: the buffers of the application, pinned when a link first
// names them, and scratch memory, which is kept from call to call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "collectives/call.h"
#include "collectives/execution/memory_cache.h"
#include "collectives/schedule/schedule.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class CallMemory {
 public:
  // All must outlive it. `staging`: CommunicatorOptions::staging.
  CallMemory(engine::Endpoint& endpoint, MemoryCache& cache, std::span<std::byte> staging)
      : endpoint_(endpoint), cache_(cache), staging_(staging) {}

  // The call stays until the next. Errors: those of registering memory.
  Result<void> begin(const Call& call, const Shape& shape, uint64_t scratch_bytes);
  // The call is over: its buffers are the application's.
  void end();

  // Of the larger buffer.
  uint64_t buffer_bytes() const {
    return input_bytes_ > output_bytes_ ? input_bytes_ : output_bytes_;
  }
  std::byte* address(const Place& place) const {
    std::byte* start = scratch_;
    if (place.buffer == Buffer::kOutput) start = static_cast<std::byte*>(call_->output);
    if (place.buffer == Buffer::kInput) {
      // What is sent is only read.
      start = static_cast<std::byte*>(const_cast<void*>(call_->input));
    }
    return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(start) + place.offset);
  }
  // For links that name memory. Errors: those of registering it.
  Result<transport::Payload> name(const Place& place, uint64_t bytes);

 private:
  Result<void> hold_scratch(uint64_t bytes);

  engine::Endpoint& endpoint_;
  MemoryCache& cache_;
  const std::span<std::byte> staging_;
  const Call* call_ = nullptr;
  uint64_t input_bytes_ = 0;
  uint64_t output_bytes_ = 0;
  std::optional<transport::Payload> input_;  // pinned
  std::optional<transport::Payload> output_;
  std::unique_ptr<std::byte[]> own_scratch_;
  std::byte* scratch_ = nullptr;
  uint64_t scratch_bytes_ = 0;
  engine::Memory scratch_memory_;
};

}  // namespace heddle::collectives
