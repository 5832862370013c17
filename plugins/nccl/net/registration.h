// Registration: memory that NCCL registered (its mhandle), and how many posted operations use it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "engine/memory.h"
#include "transport/payload.h"

namespace heddle::nccl {

class Registration {
 public:
  explicit Registration(engine::Memory memory) : memory_(std::move(memory)) {}

  // `bytes` at `start`, for a post; empty if they are not within this memory.
  std::optional<transport::Payload> payload(const void* start, size_t bytes) const {
    const auto* first = static_cast<const std::byte*>(start);
    if (first < memory_.start()) return std::nullopt;
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
  std::atomic<uint32_t> uses_ = 0;
};

}  // namespace heddle::nccl
