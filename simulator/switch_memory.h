// SwitchMemory: the packet buffer that all ports of a switch share. A queue may hold its reserve,
// and beyond it a multiple of the free memory (dynamic threshold, Choudhury and Hahne, 1998). A
// lossless switch never drops for lack of memory and only counts.
#pragma once

#include <cstdint>

#include "topology/switch_shape.h"

namespace heddle::simulator {

class SwitchMemory {
 public:
  // `queues`: number of queues with a reserve.
  SwitchMemory(const topology::SwitchShape& shape, uint32_t queues)
      : shape_(shape), shared_(shape.buffer.count - queues * shape.reserve.count) {}

  // Whether a queue that holds `queued` bytes may take `bytes` more.
  bool takes(uint64_t queued, uint32_t bytes) const;
  void take(uint64_t queued, uint32_t bytes);
  // `queued`: the queue's bytes before the call.
  void give_back(uint64_t queued, uint32_t bytes);

  uint64_t bytes() const { return shape_.buffer.count; }
  uint64_t used() const { return used_; }
  uint64_t used_max() const { return used_max_; }

 private:
  uint64_t beyond_reserve(uint64_t queued) const {
    return queued > shape_.reserve.count ? queued - shape_.reserve.count : 0;
  }

  topology::SwitchShape shape_;
  uint64_t shared_;           // memory outside all reserves
  uint64_t shared_used_ = 0;  // part of it in use
  uint64_t used_ = 0;
  uint64_t used_max_ = 0;
};

}  // namespace heddle::simulator
