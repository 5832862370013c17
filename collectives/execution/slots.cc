// SlotPool: see slots.h.
#include "collectives/execution/slots.h"

#include <utility>

namespace heddle::collectives {

Result<Slot> SlotPool::lend() {
  if (free_.empty()) {
    Slab slab;
    const uint64_t bytes = slot_bytes_ * kSlabSlots;
    if (shared_.size() < bytes) slab.own = std::make_unique_for_overwrite<std::byte[]>(bytes);
    slab.start = slab.own ? slab.own.get() : shared_.data();
    Result<engine::Memory> memory = endpoint_.register_memory(slab.start, bytes);
    if (!memory) return fail(memory.error());
    slab.memory = std::move(*memory);
    const auto first = static_cast<uint32_t>(slabs_.size()) * kSlabSlots;
    slabs_.push_back(std::move(slab));
    free_.reserve(size_t{first} + kSlabSlots);
    for (uint32_t i = kSlabSlots; i-- > 0;) free_.push_back(first + i);
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  ++lent_;
  const Slab& slab = slabs_[index / kSlabSlots];
  const uint64_t offset = index % kSlabSlots * slot_bytes_;
  return Slot{slab.start + offset, index, slab.memory.slice(offset, slot_bytes_)};
}

void SlotPool::give_back(Slot& slot) {
  if (slot.start == nullptr) return;
  free_.push_back(slot.index);
  --lent_;
  slot = {};
}

}  // namespace heddle::collectives
