// VirtualMemory: memory that is only described. A region begins as the bytes of its own pattern;
// copies into it are kept as "these bytes are those of that pattern from there on". So a simulation
// moves gigabytes, and every byte can still be checked. Ids are never reused: a region's id names
// its pattern for ever.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <vector>

#include "transport/payload.h"

namespace heddle::simulator {

// Virtual regions have ids from here on, host regions below.
inline constexpr transport::RegionId kFirstVirtualRegion = 1u << 31;
// The pattern name of bytes that nobody can tell: real ones, or a mixture in one segment.
inline constexpr transport::RegionId kUnknownBytes = transport::kNoRegion - 1;

inline bool is_virtual(transport::RegionId region) { return region >= kFirstVirtualRegion; }

// `length` bytes that are those of region `name` as it began, from `at` on.
struct Content {
  transport::RegionId name = transport::kNoRegion;
  uint64_t at = 0;
  uint64_t length = 0;

  bool operator==(const Content&) const = default;
};

class VirtualMemory {
 public:
  // Two regions with one pattern hold equal bytes at equal offsets.
  transport::RegionId add(uint64_t pattern, uint64_t bytes);
  // Further use of it is an error; its name stays.
  void remove(transport::RegionId region);

  bool lives(transport::RegionId region) const {
    return is_virtual(region) && region - kFirstVirtualRegion < regions_.size() &&
           regions_[region - kFirstVirtualRegion].live;
  }
  uint64_t pattern(transport::RegionId name) const;
  uint64_t bytes(transport::RegionId region) const;
  // CHECKs that [offset, offset + length) lies in a living region.
  void check(const transport::Payload& range) const;

  // Appends what is there to `pieces`, neighbours merged.
  void read(const transport::Payload& range, std::vector<Content>& pieces) const;
  // What is there if it is of one piece, else kUnknownBytes.
  Content read_one(const transport::Payload& range) const;
  void write(transport::RegionId region, uint64_t offset, const Content& content);
  // The range holds its own pattern again; keeps memory bounded over many messages.
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

  // Keeps the nodes of what is written: it comes and goes with every message.
  std::unique_ptr<std::pmr::unsynchronized_pool_resource> nodes_ =
      std::make_unique<std::pmr::unsynchronized_pool_resource>();
  std::vector<Region> regions_;
};

}  // namespace heddle::simulator
