// Ring schedules: each rank sends to the next and receives from the one before. Broadcast and
// reduce go along the ring as a chain. All-reduces of one ring or of two levels of rings:
// two_level.h.
#pragma once

#include "collectives/schedule/shape.h"

namespace heddle::collectives {

class RingReduceScatter {
 public:
  explicit RingReduceScatter(const Shape& shape);
  uint64_t steps() const { return blocks_ * steps_a_block_; }
  uint64_t scratch_bytes() const;
  Step at(uint64_t index) const;

 private:
  Part scratch(uint64_t block, uint64_t round, uint64_t chunk, uint64_t length) const;

  Shape shape_;
  uint64_t blocks_ = 1;
  Cut chunks_;
  uint64_t steps_a_block_ = 0;
};

class RingAllGather {
 public:
  explicit RingAllGather(const Shape& shape);
  uint64_t steps() const { return 1 + 2 * (shape_.size - 1) * chunks_.count(); }
  uint64_t scratch_bytes() const { return 0; }
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  Cut chunks_;
};

class ChainBroadcast {
 public:
  explicit ChainBroadcast(const Shape& shape);
  uint64_t steps() const;
  uint64_t scratch_bytes() const { return 0; }
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  Cut chunks_;
};

class ChainReduce {
 public:
  explicit ChainReduce(const Shape& shape);
  uint64_t steps() const;
  uint64_t scratch_bytes() const;
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  Cut chunks_;
  uint32_t place_ = 0;  // in the chain, whose last is the root
};

}  // namespace heddle::collectives
