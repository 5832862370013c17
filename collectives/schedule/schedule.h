// Schedule: what one rank does in a collective, step by step. It holds a few numbers and computes
// each step when it is asked for, so its size does not depend on the data or the number of ranks.
#pragma once

#include <cstdint>
#include <variant>

#include "collectives/schedule/doubling.h"
#include "collectives/schedule/exchange.h"
#include "collectives/schedule/pairs.h"
#include "collectives/schedule/ring.h"
#include "collectives/schedule/rooted.h"
#include "collectives/schedule/tree.h"
#include "collectives/schedule/two_level.h"

namespace heddle::collectives {

class Schedule {
 public:
  // Without steps.
  Schedule() = default;
  // CHECKs that can_run() holds and that rank and root are below the size.
  explicit Schedule(const Shape& shape);

  uint64_t steps() const { return steps_; }
  // Memory that steps call Buffer::kScratch.
  uint64_t scratch_bytes() const { return scratch_bytes_; }
  // `index` is below steps().
  Step at(uint64_t index) const;

 private:
  using Kind =
      std::variant<std::monostate, TwoLevelAllReduce, RingReduceScatter, RingAllGather,
                   ChainBroadcast, ChainReduce, DoubleTree, RecursiveDoubling, HalvingDoubling,
                   PairwiseAllToAll, PairwiseAllToAllV, PairwiseReduceScatter, BruckAllToAll,
                   BruckAllGather, LinearGather, LinearScatter, BinomialGather, BinomialScatter,
                   BinomialBroadcast, BinomialReduce, DisseminationBarrier, PointToPoint>;
  static Kind make(const Shape& shape);
  static Kind make_ring(const Shape& shape);
  static Kind make_binomial(const Shape& shape);

  Kind kind_;
  uint64_t steps_ = 0;
  uint64_t scratch_bytes_ = 0;
};

}  // namespace heddle::collectives
