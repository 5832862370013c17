// Registration: memory that NCCL registered (its mhandle), and how many posted operations use it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/endpoint.h"
#include "engine/memory.h"
#include "transport/payload.h"

namespace heddle::nccl {

class Registration {
 public:
  // `endpoint`: at which it is registered, and nowhere else.
  Registration(engine::Memory memory, const engine::Endpoint& endpoint)
      : memory_(std::move(memory)), endpoint_(&endpoint) {}

  // `bytes` at `start`, for a post at `endpoint`; empty if they are not within this memory, or the
  // memory belongs to another endpoint.
  std::optional<transport::Payload> payload(const engine::Endpoint& endpoint, const void* start,
                                            size_t bytes) const {
    const auto* first = static_cast<const std::byte*>(start);
    if (&endpoint != endpoint_ || first < memory_.start()) return std::nullopt;
    const auto offset = static_cast<uint64_t>(first - memory_.start());
    if (offset > memory_.bytes() || bytes > memory_.bytes() - offset) return std::nullopt;
    return memory_.slice(offset, bytes);
  }

  // Any thread.
  void begin_use() { uses_.fetch_add(1, std::memory_order_relaxed); }
  void end_use() { uses_.fetch_sub(1, std::memory_order_release); }
  bool in_use() const { return uses_.load(std::memory_order_acquire) > 0; }

 private:
  engine::Memory memory_;
  const engine::Endpoint* const endpoint_;
  std::atomic<uint32_t> uses_ = 0;
};

}  // namespace heddle::nccl
