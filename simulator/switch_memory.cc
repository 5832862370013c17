// The buffer of a switch: see switch_memory.h.
#include "simulator/switch_memory.h"

#include <algorithm>

#include "base/check.h"
#include "base/units.h"

namespace heddle::simulator {

bool SwitchMemory::takes(uint64_t queued, uint32_t bytes) const {
  const uint64_t after = beyond_reserve(queued + bytes);
  const uint64_t more = after - beyond_reserve(queued);
  if (more == 0) return true;
  const uint64_t free = shared_ - shared_used_;
  if (more > free) return false;
  if (shape_.lossless) return true;
  return static_cast<Uint128>(after) * shape_.alpha_divisor <=
         static_cast<Uint128>(free) * shape_.alpha;
}

void SwitchMemory::take(uint64_t queued, uint32_t bytes) {
  shared_used_ += beyond_reserve(queued + bytes) - beyond_reserve(queued);
  used_ += bytes;
  used_max_ = std::max(used_max_, used_);
}

void SwitchMemory::give_back(uint64_t queued, uint32_t bytes) {
  CHECK(queued >= bytes && used_ >= bytes);
  shared_used_ -= beyond_reserve(queued) - beyond_reserve(queued - bytes);
  used_ -= bytes;
}

}  // namespace heddle::simulator
