// Arena: allocates ranges of one region with guards between them. Freed ranges are reused, so that
// a late write becomes visible.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "transport/payload.h"

namespace heddle::vopr {

class Arena {
 public:
  // Bytes between two ranges that no operation may write.
  static constexpr uint64_t kGuardBytes = 64;

  Arena(transport::RegionId region, uint64_t bytes);

  transport::RegionId region() const { return region_; }
  // Nothing if there is no free range of that length.
  std::optional<transport::Payload> take(uint64_t length);
  void give_back(const transport::Payload& payload);
  uint64_t taken_bytes() const { return taken_; }

 private:
  static uint64_t footprint(uint64_t length) { return length + kGuardBytes; }

  transport::RegionId region_;
  uint64_t taken_ = 0;
  std::map<uint64_t, uint64_t> free_;  // offset to length; never adjacent
};

}  // namespace heddle::vopr
