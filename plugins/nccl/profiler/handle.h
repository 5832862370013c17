// Handle: what NCCL gets as the pointer of a profiler event. It is no address but names an object
// by its context, place and generation, so that a late or foreign use is recognized and not
// followed.
#pragma once

#include <cstdint>

namespace heddle::nccl {

enum class HandleKind : uint8_t {
  kNone = 0,     // NCCL's null
  kIgnored = 1,  // an event that is not recorded; NCCL asks for its handle to report others
  kCall = 2,
  kOp = 3,
  kStep = 4,
  kSpan = 5,
};

struct Handle {
  HandleKind kind = HandleKind::kNone;
  uint8_t step = 0;         // of kStep: its place in the op
  uint16_t context = 0;     // below 4096
  uint16_t place = 0;       // in the context's pool of that kind
  uint32_t generation = 0;  // below 2^24, from 1

  void* pointer() const {
    const uint64_t bits = static_cast<uint64_t>(kind) << 60 | uint64_t{step} << 56 |
                          uint64_t{context} << 40 | uint64_t{generation} << 16 | place;
    return reinterpret_cast<void*>(bits);  // NOLINT(performance-no-int-to-ptr)
  }
  static Handle of(const void* pointer) {
    const auto bits = reinterpret_cast<uint64_t>(pointer);
    Handle handle;
    handle.kind = static_cast<HandleKind>(bits >> 60);
    handle.step = static_cast<uint8_t>(bits >> 56 & 0xf);
    handle.context = static_cast<uint16_t>(bits >> 40 & 0xffff);
    handle.generation = static_cast<uint32_t>(bits >> 16 & 0xffffff);
    handle.place = static_cast<uint16_t>(bits & 0xffff);
    return handle;
  }
  bool operator==(const Handle&) const = default;
};

}  // namespace heddle::nccl
