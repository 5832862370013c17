// All-reduce by rings on two levels. Neighbours form groups of equal size: a ring inside each group
// reduces, so that every rank has the sum of one segment; rings across the groups, of the ranks
// with the same place in them, all-reduce that segment; the rings inside gather. Of G groups, each
// sends the next 2(G-1)/G times the data, however many ranks it has: over the border of two groups
// the data goes once (BlueConnect: Cho et al., 2019). One group is a plain ring (Patarasuk and
// Yuan, 2009).
#pragma once

#include "collectives/schedule/shape.h"

namespace heddle::collectives {

class TwoLevelAllReduce {
 public:
  // `group_ranks` divides the size of the shape.
  TwoLevelAllReduce(const Shape& shape, uint32_t group_ranks);
  uint64_t steps() const { return shape_.size == 1 ? 1 : blocks_ * steps_a_block(); }
  uint64_t scratch_bytes() const { return 0; }
  Step at(uint64_t index) const;

 private:
  // A ring that this rank is in.
  struct Level {
    uint32_t place = 0;
    uint32_t size = 1;
    uint32_t next = 0;      // rank
    uint32_t previous = 0;  // rank
    Cut chunks;             // of a segment: a ring cuts what it goes through into `size` of them

    uint32_t before(uint64_t distance) const {
      return static_cast<uint32_t>((place + 2 * uint64_t{size} - distance) % size);
    }
    // Steps of one half: to reduce, or to gather.
    uint64_t steps() const { return 2 * (size - 1) * chunks.count(); }
  };
  // One half of a ring's work.
  struct Half {
    const Level& level;
    Part row;
    bool gathers = false;
    Buffer own = Buffer::kOutput;  // what this rank adds to the sums
    bool completes_sums = false;   // what is reduced last here is complete
    bool requests_last = false;    // its last send requests an acknowledgement
  };
  uint64_t steps_a_block() const { return 2 * (inside_.steps() + across_.steps()); }
  Step step_of(const Half& half, uint64_t index) const;

  Shape shape_;
  uint64_t blocks_ = 1;  // whose reduced chunks leave while they are still in the cache
  Level inside_;
  Level across_;
};

}  // namespace heddle::collectives
