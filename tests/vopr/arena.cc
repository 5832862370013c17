// See arena.h. First fit over the free ranges; adjacent ones are merged.
#include "tests/vopr/arena.h"

#include <iterator>

#include "base/check.h"

namespace heddle::vopr {

Arena::Arena(transport::RegionId region, uint64_t bytes) : region_(region) {
  CHECK(bytes > kGuardBytes);
  free_[kGuardBytes] = bytes - kGuardBytes;  // includes a guard before the first range
}

std::optional<transport::Payload> Arena::take(uint64_t length) {
  const uint64_t wanted = footprint(length);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [offset, bytes] = *it;
    if (bytes < wanted) continue;
    free_.erase(it);
    if (bytes > wanted) free_[offset + wanted] = bytes - wanted;
    taken_ += wanted;
    return transport::Payload{region_, offset, length};
  }
  return std::nullopt;
}

void Arena::give_back(const transport::Payload& payload) {
  CHECK(payload.region == region_);
  uint64_t offset = payload.offset;
  uint64_t bytes = footprint(payload.length);
  taken_ -= bytes;
  auto next = free_.lower_bound(offset);
  CHECK(next == free_.end() || next->first >= offset + bytes);
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    CHECK(previous->first + previous->second <= offset);
    if (previous->first + previous->second == offset) {
      offset = previous->first;
      bytes += previous->second;
      free_.erase(previous);
    }
  }
  if (next != free_.end() && offset + bytes == next->first) {
    bytes += next->second;
    free_.erase(next);
  }
  free_[offset] = bytes;
}

}  // namespace heddle::vopr
