// SwitchMemory: the packet memory that all ports of a switch share. A queue may hold a multiple of
// what is free (Choudhury and Hahne, 1998: the dynamic threshold), and its reserve whatever the
// others hold. Where packets are never dropped for lack of room, it counts only.
#pragma once

#include <cstdint>

#include "topology/switch_shape.h"

namespace heddle::simulator {

class SwitchMemory {
 public:
  // `queues` have a reserve.
  SwitchMemory(const topology::SwitchShape& shape, uint32_t queues)
      : shape_(shape), shared_(shape.buffer.count - queues * shape.reserve.count) {}

  // Whether a queue that holds `queued` bytes may take so many more.
  bool takes(uint64_t queued, uint32_t bytes) const;
  void take(uint64_t queued, uint32_t bytes);
  // The queue held `queued` before.
  void give_back(uint64_t queued, uint32_t bytes);

  uint64_t bytes() const { return shape_.buffer.count; }
  uint64_t used() const { return used_; }
  uint64_t used_max() const { return used_max_; }

 private:
  uint64_t beyond_reserve(uint64_t queued) const {
    return queued > shape_.reserve.count ? queued - shape_.reserve.count : 0;
  }

  topology::SwitchShape shape_;
  uint64_t shared_;           // what is nobody's reserve
  uint64_t shared_used_ = 0;  // of it
  uint64_t used_ = 0;
  uint64_t used_max_ = 0;
};

}  // namespace heddle::simulator
