// The smallest schedules: a barrier by dissemination (Hensgen, Finkel and Manber, 1988), and the
// send and receive of two ranks.
#pragma once

#include <bit>

#include "collectives/schedule/shape.h"

namespace heddle::collectives {

// In round k each rank notifies the one 2^k behind it, by the byte that it received in the previous
// round.
class DisseminationBarrier {
 public:
  explicit DisseminationBarrier(const Shape& shape) : shape_(shape) { shape_.element_bytes = 1; }
  uint64_t steps() const {
    return shape_.size == 1 ? 0 : 2 * static_cast<uint64_t>(std::bit_width(shape_.size - 1));
  }
  uint64_t scratch_bytes() const { return steps() / 2 + 1; }
  Step at(uint64_t index) const {
    const uint64_t round = index / 2;
    const uint64_t distance = uint64_t{1} << round;
    return index % 2 == 0
               ? send_step(shape_, shape_.after(distance), Buffer::kScratch, {round, 1})
               : receive_step(shape_, shape_.before(distance), Buffer::kScratch, {round + 1, 1});
  }

 private:
  Shape shape_;
};

// One side of a send or receive; the peer is the shape's root.
class PointToPoint {
 public:
  explicit PointToPoint(const Shape& shape)
      : shape_(shape), pieces_(pieces_of(shape.count, shape.message_count())) {}
  uint64_t steps() const { return pieces_; }
  uint64_t scratch_bytes() const { return 0; }
  Step at(uint64_t index) const {
    const Part part = part_of(shape_.count, pieces_, index);
    return shape_.collective == Collective::kSend
               ? send_step(shape_, shape_.root, Buffer::kInput, part)
               : receive_step(shape_, shape_.root, Buffer::kOutput, part);
  }

 private:
  Shape shape_;
  uint64_t pieces_ = 1;
};

}  // namespace heddle::collectives
