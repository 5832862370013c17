// UdSlots: memory that the NIC reads or writes, cut into slots of one size; registered as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "datapath/verbs/device.h"

namespace heddle::datapath {

class UdSlots {
 public:
  // Errors: kExhausted (memory, also locked memory), kSystem.
  static Result<std::unique_ptr<UdSlots>> make(VerbsDevice& device, uint32_t count,
                                               size_t slot_bytes, bool writable);
  ~UdSlots();
  UdSlots(const UdSlots&) = delete;
  UdSlots& operator=(const UdSlots&) = delete;

  std::byte* at(uint32_t slot) const { return start_ + size_t{slot} * slot_bytes_; }
  uint32_t count() const { return count_; }
  size_t slot_bytes() const { return slot_bytes_; }
  uint32_t local_key() const { return local_key_; }

 private:
  UdSlots(VerbsDevice& device, uint32_t count, size_t slot_bytes)
      : device_(device), count_(count), slot_bytes_(slot_bytes) {}

  VerbsDevice& device_;
  uint32_t count_;
  size_t slot_bytes_;
  std::byte* start_ = nullptr;
  ibv_mr* memory_ = nullptr;
  uint32_t local_key_ = 0;
};

}  // namespace heddle::datapath
