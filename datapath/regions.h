// RegionTable: the memory that is registered with a datapath, and copies between it and frames. A
// region is host memory, or virtual: a length and a pattern whose bytes are a function of their
// position, so that a simulation moves gigabytes without holding them.
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

// Byte `at` of a virtual region with this pattern. The function is the same in every process.
std::byte pattern_byte(uint64_t pattern, uint64_t at);
// Fills `target` with the pattern's bytes from position `at` on; much faster than byte by byte.
void fill_pattern(uint64_t pattern, uint64_t at, std::span<std::byte> target);
// Index of the first byte of `bytes` that differs from the pattern at position `at` plus the index;
// bytes.size() if none does.
size_t pattern_mismatch(uint64_t pattern, uint64_t at, std::span<const std::byte> bytes);

class RegionTable {
 public:
  transport::RegionId add_host(void* start, uint64_t bytes);
  transport::RegionId add_virtual(uint64_t pattern, uint64_t bytes);
  void remove(transport::RegionId region);

  // CHECKs that the region is registered.
  const Region& at(transport::RegionId region) const;
  // The address of this payload; CHECKs that it lies in a registered host region.
  std::byte* resolve(const transport::Payload& payload) const;

  // Performs the copies, into host regions. A copy from virtual bytes writes the pattern. Sources
  // of kPlaced may overlap any target of the batch, also their own.
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
