// SlotPool: registered memory in pieces of one size, lent to messages that are not sent from or
// received into a user's buffer. It grows to what the steady state needs and then allocates
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "collectives/params.h"
#include "engine/endpoint.h"

namespace heddle::collectives {

struct Slot {
  std::byte* start = nullptr;  // null: none
  uint32_t index = 0;
  transport::Payload place;  // all of it

  transport::Payload first(uint64_t bytes) const {
    return {.region = place.region, .offset = place.offset, .length = bytes};
  }
};

class SlotPool {
 public:
  static constexpr uint32_t kSlabSlots = params::kSlabSlots;

  // `endpoint` must outlive it. Where a row of slots fits into `shared`, all rows are there, on top
  // of each other and of whatever else is.
  SlotPool(engine::Endpoint& endpoint, uint64_t slot_bytes, std::span<std::byte> shared = {})
      : endpoint_(endpoint), slot_bytes_(slot_bytes), shared_(shared) {}

  // Errors: those of registering memory.
  Result<Slot> lend();
  // Nothing may be posted on it any more. The slot is none afterwards.
  void give_back(Slot& slot);

  uint64_t slot_bytes() const { return slot_bytes_; }
  // Before the first was lent.
  void set_slot_bytes(uint64_t bytes) {
    CHECK(slabs_.empty());
    slot_bytes_ = bytes;
  }
  uint32_t lent() const { return lent_; }

 private:
  struct Slab {
    std::unique_ptr<std::byte[]> own;
    std::byte* start = nullptr;
    engine::Memory memory;
  };

  engine::Endpoint& endpoint_;
  uint64_t slot_bytes_;
  std::span<std::byte> shared_;
  uint32_t lent_ = 0;
  std::vector<Slab> slabs_;
  std::vector<uint32_t> free_;
};

}  // namespace heddle::collectives
