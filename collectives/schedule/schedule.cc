// Schedule: which class computes the steps of which collective and algorithm.
#include "collectives/schedule/schedule.h"

#include <type_traits>

#include "base/check.h"

namespace heddle::collectives {

Schedule::Schedule(const Shape& shape) {
  CHECK(can_run(shape.collective, shape.algorithm));
  CHECK(shape.rank < shape.size && shape.root < shape.size);
  kind_ = make(shape);
  std::visit(
      [this](const auto& kind) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(kind)>, std::monostate>) {
          steps_ = kind.steps();
          scratch_bytes_ = kind.scratch_bytes();
        }
      },
      kind_);
}

Schedule::Kind Schedule::make_ring(const Shape& shape) {
  switch (shape.collective) {
    case Collective::kAllReduce:
      return TwoLevelAllReduce(shape, shape.size);
    case Collective::kReduceScatter:
      return RingReduceScatter(shape);
    case Collective::kAllGather:
      return RingAllGather(shape);
    case Collective::kBroadcast:
      return ChainBroadcast(shape);
    default:
      return ChainReduce(shape);
  }
}

Schedule::Kind Schedule::make_binomial(const Shape& shape) {
  switch (shape.collective) {
    case Collective::kGather:
      return BinomialGather(shape);
    case Collective::kScatter:
      return BinomialScatter(shape);
    case Collective::kBroadcast:
      return BinomialBroadcast(shape);
    default:
      return BinomialReduce(shape);
  }
}

Schedule::Kind Schedule::make(const Shape& shape) {
  switch (shape.algorithm) {
    case Algorithm::kRing:
      return make_ring(shape);
    case Algorithm::kTree:
      return DoubleTree(shape);
    case Algorithm::kRecursiveDoubling:
      return RecursiveDoubling(shape);
    case Algorithm::kHalvingDoubling:
      return HalvingDoubling(shape);
    case Algorithm::kBinomial:
      return make_binomial(shape);
    case Algorithm::kPairwise:
      if (shape.collective == Collective::kAllToAllV) return PairwiseAllToAllV(shape);
      if (shape.collective == Collective::kReduceScatter) return PairwiseReduceScatter(shape);
      return PairwiseAllToAll(shape);
    case Algorithm::kBruck:
      if (shape.collective == Collective::kAllGather) return BruckAllGather(shape);
      return BruckAllToAll(shape);
    case Algorithm::kLinear:
      if (shape.collective == Collective::kGather) return LinearGather(shape);
      if (shape.collective == Collective::kScatter) return LinearScatter(shape);
      return PointToPoint(shape);
    case Algorithm::kDissemination:
      return DisseminationBarrier(shape);
    case Algorithm::kTwoLevel:
      return TwoLevelAllReduce(shape, shape.group_ranks);
  }
  return {};
}

Step Schedule::at(uint64_t index) const {
  CHECK(index < steps_);
  return std::visit(
      [index](const auto& kind) {
        if constexpr (std::is_same_v<std::decay_t<decltype(kind)>, std::monostate>) {
          return Step{};
        } else {
          return kind.at(index);
        }
      },
      kind_);
}

}  // namespace heddle::collectives
