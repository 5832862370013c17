// VirtualMemory: memory that is described instead of stored. A region initially holds its own
// pattern; copies into it are recorded as "these bytes are from that pattern at that offset". A
// simulation can move gigabytes, and every byte remains checkable. Ids are never reused: a region's
// id identifies its pattern forever.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <vector>

#include "transport/payload.h"

namespace heddle::simulator {

// Virtual regions have ids from here on; host regions are below.
inline constexpr transport::RegionId kFirstVirtualRegion = 1u << 31;
// The name of unknown bytes: real ones, or a mixture in one segment.
inline constexpr transport::RegionId kUnknownBytes = transport::kNoRegion - 1;

inline bool is_virtual(transport::RegionId region) { return region >= kFirstVirtualRegion; }

// `length` bytes of the initial content of region `name`, from `at` on.
struct Content {
  transport::RegionId name = transport::kNoRegion;
  uint64_t at = 0;
  uint64_t length = 0;

  bool operator==(const Content&) const = default;
};

class VirtualMemory {
 public:
  // Regions with equal patterns hold equal bytes at equal offsets.
  transport::RegionId add(uint64_t pattern, uint64_t bytes);
  // Any further use of the region is an error; its name remains valid.
  void remove(transport::RegionId region);

  bool lives(transport::RegionId region) const {
    return is_virtual(region) && region - kFirstVirtualRegion < regions_.size() &&
           regions_[region - kFirstVirtualRegion].live;
  }
  uint64_t pattern(transport::RegionId name) const;
  uint64_t bytes(transport::RegionId region) const;
  // CHECKs that [offset, offset + length) lies in a registered region.
  void check(const transport::Payload& range) const;

  // Appends the content of the range to `pieces`, with adjacent pieces merged.
  void read(const transport::Payload& range, std::vector<Content>& pieces) const;
  // The content if it is one piece, else kUnknownBytes.
  Content read_one(const transport::Payload& range) const;
  void write(transport::RegionId region, uint64_t offset, const Content& content);
  // Resets the range to the region's own pattern; keeps memory bounded over many messages.
  void reset(const transport::Payload& range);

 private:
  struct Region {
    uint64_t pattern = 0;
    uint64_t bytes = 0;
    bool live = false;
    std::pmr::map<uint64_t, Content> written;  // by offset, disjoint, merged
  };

  const Region& at(transport::RegionId region) const;
  Region& at(transport::RegionId region);
  static void erase(Region& region, uint64_t offset, uint64_t length);

  // Allocates the nodes of `written`, which change with every message.
  std::unique_ptr<std::pmr::unsynchronized_pool_resource> nodes_ =
      std::make_unique<std::pmr::unsynchronized_pool_resource>();
  std::vector<Region> regions_;
};

}  // namespace heddle::simulator
