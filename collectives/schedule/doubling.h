// All-reduce over groups that double: recursive doubling exchanges everything in each round, which
// is quick for little data; halving-doubling exchanges halves of what is left and gathers them
// again, which moves as little as a ring does in fewer rounds (Rabenseifner, 2004). Where the size
// is no power of two, the first ranks fold in pairs before and unfold afterwards.
#pragma once

#include "collectives/schedule/shape.h"

namespace heddle::collectives {

// How `size` ranks become a power of two: of the first 2 * extra ranks the odd ones hand what they
// have to the one before and get the result from it.
class Fold {
 public:
  Fold() = default;
  Fold(uint32_t rank, uint32_t size);

  uint32_t folded() const { return folded_; }  // the power of two
  uint32_t rounds() const { return rounds_; }
  bool hands_over() const { return hands_over_; }
  bool takes_over() const { return takes_over_; }
  // Of a rank that takes part in the rounds, there.
  uint32_t position() const { return position_; }
  uint32_t rank_of(uint32_t position) const {
    return position < extra_ ? 2 * position : position + extra_;
  }

 private:
  uint32_t folded_ = 1;
  uint32_t rounds_ = 0;
  uint32_t extra_ = 0;
  uint32_t position_ = 0;
  bool hands_over_ = false;
  bool takes_over_ = false;
};

class RecursiveDoubling {
 public:
  explicit RecursiveDoubling(const Shape& shape);
  uint64_t steps() const;
  uint64_t scratch_bytes() const;
  Step at(uint64_t index) const;

 private:
  // Where the sums of a round are; they alternate so that a send need not end before the next sum.
  Buffer sums_of(uint32_t round) const;
  Buffer before(uint32_t round) const;

  Shape shape_;
  Fold fold_;
  Cut chunks_;
};

class HalvingDoubling {
 public:
  explicit HalvingDoubling(const Shape& shape);
  uint64_t steps() const { return steps_; }
  uint64_t scratch_bytes() const { return 0; }
  Step at(uint64_t index) const;

 private:
  // The exchange of a round: what goes to the peer, what comes from it.
  struct Round {
    uint32_t peer = 0;
    bool peer_is_lower = false;
    Part sent;
    Part received;
    Cut sent_chunks;
    Cut received_chunks;
  };
  Round round_at(uint32_t round) const;
  Part range(uint32_t from, uint32_t to) const;
  Step exchange(const Round& round, uint32_t number, uint64_t index) const;

  Shape shape_;
  Fold fold_;
  Cut chunks_;      // of all, for the ranks that fold
  uint32_t place_;  // whose part of the data is this rank's in the end
  uint64_t steps_ = 0;
};

}  // namespace heddle::collectives
