// RegionTable: the memory that a datapath knows by name, and the copies between it and frames.
// A region is host memory, or virtual: a length and a pattern whose bytes are a function of their
// place, so that a simulation moves gigabytes without holding them.
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
  uint64_t pattern = 0;  // virtual: the seed of its bytes
  bool live = false;
};

// Byte `at` of a virtual region with this pattern. Equal patterns give equal bytes in every
// process.
std::byte pattern_byte(uint64_t pattern, uint64_t at);
// Writes the bytes from `at` on of this pattern over all of `target`; far cheaper than byte by
// byte.
void fill_pattern(uint64_t pattern, uint64_t at, std::span<std::byte> target);
// Index of the first byte of `bytes` that is not the pattern's from `at` on; bytes.size() if all
// are.
size_t pattern_mismatch(uint64_t pattern, uint64_t at, std::span<const std::byte> bytes);

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
  // kPlaced may overlap their own target and those of other copies of the batch in any way.
  void place(std::span<const transport::Placement> placements);

 private:
  // A source that an earlier copy of the batch overwrites, saved at `offset` of bounce_.
  struct Saved {
    size_t placement = 0;
    size_t offset = 0;
  };

  transport::RegionId add(const Region& region);
  void save_endangered(std::span<const transport::Placement> placements);
  bool endangered(std::span<const transport::Placement> placements, size_t index) const;

  std::vector<Region> regions_;
  std::vector<transport::RegionId> free_;
  std::vector<std::byte> bounce_;
  std::vector<Saved> saved_;
};

}  // namespace heddle::datapath
