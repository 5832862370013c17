// Schedules in which every rank has different data for every other: pairwise all-to-all,
// all-to-all-v and reduce-scatter, and Bruck's all-to-all and all-gather in few rounds (Bruck et
// al., "Efficient algorithms for all-to-all communications", 1997).
#pragma once

#include "collectives/schedule/shape.h"

namespace heddle::collectives {

// In round t ranks whose sum is t (modulo the size) exchange. In place, what is received waits in
// scratch until what was there has left.
class PairwiseAllToAll {
 public:
  explicit PairwiseAllToAll(const Shape& shape);
  uint64_t steps() const { return moves_ * shape_.size * pieces_.count(); }
  uint64_t scratch_bytes() const;
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  uint64_t moves_ = 2;  // steps a piece
  Cut pieces_;
};

// The same with a count for each pair. Input and output must not overlap.
class PairwiseAllToAllV {
 public:
  explicit PairwiseAllToAllV(const Shape& shape) : shape_(shape) {}
  uint64_t steps() const { return 2 * shape_.size; }
  uint64_t scratch_bytes() const { return 0; }
  Step at(uint64_t index) const;

 private:
  Shape shape_;
};

// Each sends its part to each owner at once; sums are taken in the order of the ranks' distance.
class PairwiseReduceScatter {
 public:
  explicit PairwiseReduceScatter(const Shape& shape);
  uint64_t steps() const;
  uint64_t scratch_bytes() const { return 0; }
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  Cut pieces_;
};

class BruckAllToAll {
 public:
  explicit BruckAllToAll(const Shape& shape);
  uint64_t steps() const { return steps_; }
  uint64_t scratch_bytes() const;
  Step at(uint64_t index) const;

 private:
  uint32_t blocks_in(uint32_t round) const;
  uint32_t block_at(uint32_t round, uint32_t index) const;
  Step in_round(uint32_t round, uint32_t index) const;

  Shape shape_;
  uint32_t rounds_ = 0;
  uint64_t steps_ = 0;
};

class BruckAllGather {
 public:
  explicit BruckAllGather(const Shape& shape);
  uint64_t steps() const { return 3 + 2 * rounds_; }
  uint64_t scratch_bytes() const { return shape_.bytes(shape_.size * shape_.count); }
  Step at(uint64_t index) const;

 private:
  Shape shape_;
  uint64_t rounds_ = 0;
};

}  // namespace heddle::collectives
