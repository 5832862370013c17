// RegionTable: the memory that a datapath knows by name, and the copies between it and frames.
// A region is host memory, or virtual: a length and a pattern whose bytes are a function of their place, so
// that a simulation moves gigabytes without holding them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "transport/payload.h"
#include "transport/rx_run.h"

namespace heddle::datapath {

struct Region {
  std::byte* start = nullptr;  // null: virtual
  uint64_t bytes = 0;
  uint64_t pattern = 0;        // virtual: the seed of its bytes
  bool live = false;
};

// Byte `at` of a virtual region with this pattern.
std::byte pattern_byte(uint64_t pattern, uint64_t at);

class RegionTable {
 public:
  transport::RegionId add_host(void* start, uint64_t bytes);
  transport::RegionId add_virtual(uint64_t pattern, uint64_t bytes);
  void remove(transport::RegionId region);

  // CHECKs that the region lives.
  const Region& at(transport::RegionId region) const;
  // Where this payload is; CHECKs that it lies in a live host region.
  std::byte* resolve(const transport::Payload& payload) const;

  // Makes the copies, into host regions. A copy from virtual bytes writes the pattern. Copies from
  // kPlaced may overlap their targets in any way.
  void place(std::span<const transport::Placement> placements);

 private:
  std::vector<Region> regions_;
  std::vector<transport::RegionId> free_;
  std::vector<std::byte> bounce_;  // for kPlaced copies that overlap
};

}  // namespace heddle::datapath
