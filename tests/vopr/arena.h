// Arena: hands out stretches of one region with guards between them, and takes them back for reuse:
// reuse is where a late write shows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "transport/payload.h"

namespace heddle::vopr {

class Arena {
 public:
  // Bytes between two stretches that nobody may write.
  static constexpr uint64_t kGuardBytes = 64;

  Arena(transport::RegionId region, uint64_t bytes);

  transport::RegionId region() const { return region_; }
  // None when there is no room for it.
  std::optional<transport::Payload> take(uint64_t length);
  void give_back(const transport::Payload& payload);
  uint64_t taken_bytes() const { return taken_; }

 private:
  static uint64_t footprint(uint64_t length) { return length + kGuardBytes; }

  transport::RegionId region_;
  uint64_t taken_ = 0;
  std::map<uint64_t, uint64_t> free_;  // offset and length, apart from each other
};

}  // namespace heddle::vopr
