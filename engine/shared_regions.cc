// See shared_regions.h. Slabs never move.
#include "engine/shared_regions.h"

#include "base/check.h"

namespace heddle::engine {

using transport::kNoRegion;
using transport::RegionId;

SharedRegions::~SharedRegions() {
  for (std::atomic<Slab*>& slab : slabs_) delete slab.load();
}

RegionId SharedRegions::add(const Locals& locals) {
  const OwnMutex::Lock lock = mutex_.lock();
  RegionId region = slots_;
  if (!free_.empty()) {
    region = free_.back();
    free_.pop_back();
  } else {
    if (slots_ == kMostRegions) return kNoRegion;
    std::atomic<Slab*>& slab = slabs_[slots_ / kSlab];
    if (slots_ % kSlab == 0) slab.store(new Slab, std::memory_order_release);
    ++slots_;
  }
  (*slabs_[region / kSlab].load(std::memory_order_relaxed))[region % kSlab] = locals;
  return region;
}

void SharedRegions::remove(RegionId region) {
  const OwnMutex::Lock lock = mutex_.lock();
  free_.push_back(region);
}

const SharedRegions::Locals& SharedRegions::at(RegionId region) const {
  CHECK(region < kMostRegions);
  const Slab* const slab = slabs_[region / kSlab].load(std::memory_order_acquire);
  CHECK(slab != nullptr);
  return (*slab)[region % kSlab];
}

}  // namespace heddle::engine
