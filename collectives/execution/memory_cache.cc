// MemoryCache: see memory_cache.h.
#include "collectives/execution/memory_cache.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace heddle::collectives {

Result<transport::Payload> MemoryCache::pin(const void* start, uint64_t bytes) {
  // Regions have no direction; what is sent is only read.
  auto* const first = static_cast<std::byte*>(const_cast<void*>(start));
  for (Entry& entry : entries_) {
    std::byte* const begin = entry.memory.start();
    if (first < begin || first + bytes > begin + entry.memory.bytes()) continue;
    ++entry.pins;
    entry.used = ++uses_;
    return entry.memory.slice(static_cast<uint64_t>(first - begin), bytes);
  }
  make_room();
  Result<engine::Memory> memory = endpoint_.register_memory(first, bytes);
  if (!memory) return fail(memory.error());
  const transport::Payload whole = memory->whole();
  entries_.push_back({std::move(*memory), 1, ++uses_});
  return whole;
}

void MemoryCache::unpin(const transport::Payload& pinned) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.memory.region() == pinned.region;
  });
  CHECK(found != entries_.end() && found->pins > 0);
  --found->pins;
}

// The one that was not used for longest goes.
void MemoryCache::make_room() {
  if (entries_.size() < kMost) return;
  size_t oldest = entries_.size();
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].pins > 0) continue;
    if (oldest == entries_.size() || entries_[i].used < entries_[oldest].used) oldest = i;
  }
  if (oldest == entries_.size()) return;
  std::swap(entries_[oldest], entries_.back());
  entries_.pop_back();
}

}  // namespace heddle::collectives
