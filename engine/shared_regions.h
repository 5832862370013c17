// SharedRegions: memory that is registered with every engine of an endpoint. One id stands for the
// id that each engine's datapath has given it. Reading takes no lock: an id is known to its users
// only after add() returned, and is not used after remove().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/own_mutex.h"
#include "engine/params.h"
#include "transport/engine_share.h"
#include "transport/payload.h"

namespace heddle::engine {

class SharedRegions {
 public:
  static constexpr uint32_t kMostRegions = params::kMostRegions;
  using Locals = std::array<transport::RegionId, transport::kMostEngines>;

  SharedRegions() = default;
  ~SharedRegions();
  SharedRegions(const SharedRegions&) = delete;
  SharedRegions& operator=(const SharedRegions&) = delete;

  // Returns kNoRegion if kMostRegions are in use.
  transport::RegionId add(const Locals& locals);
  void remove(transport::RegionId region);
  // CHECKs that the region is one that add() may have returned.
  const Locals& at(transport::RegionId region) const;

 private:
  static constexpr uint32_t kSlab = params::kRegionsSlab;
  using Slab = std::array<Locals, kSlab>;

  std::array<std::atomic<Slab*>, kMostRegions / kSlab> slabs_{};
  OwnMutex mutex_;
  std::vector<transport::RegionId> free_;
  uint32_t slots_ = 0;
};

}  // namespace heddle::engine
