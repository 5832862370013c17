// MemoryCache: the registrations of buffers that calls used lately. A training loop passes the same
// buffers in every step; registering them anew each time would cost more than a small message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "collectives/params.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

class MemoryCache {
 public:
  static constexpr size_t kMost = params::kCachedRegions;

  // `endpoint` must outlive it.
  explicit MemoryCache(engine::Endpoint& endpoint) : endpoint_(endpoint) {}

  // The name of [start, start + bytes), which stays good until unpin(). Errors: those of
  // registering memory.
  Result<transport::Payload> pin(const void* start, uint64_t bytes);
  // Once for each pin(), with its answer.
  void unpin(const transport::Payload& pinned);

  size_t held() const { return entries_.size(); }

 private:
  struct Entry {
    engine::Memory memory;
    uint32_t pins = 0;
    uint64_t used = 0;
  };
  void make_room();

  engine::Endpoint& endpoint_;
  std::vector<Entry> entries_;
  uint64_t uses_ = 0;
};

}  // namespace heddle::collectives
