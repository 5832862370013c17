// CostTable: the measured time of every algorithm of every collective between the ranks of one
// communicator, at ten sizes. Rank 0 reads it from disk or measures it, and every rank gets a copy;
// Tuning::choose() takes the algorithm whose row is lowest at a call's size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "collectives/collective.h"

namespace heddle::collectives {

struct CostTable {
  struct Row {
    Collective collective;
    Algorithm algorithm;
  };
  // Every pair among which there is a choice.
  static constexpr std::array<Row, 21> kRows = {{
      {Collective::kAllReduce, Algorithm::kRecursiveDoubling},
      {Collective::kAllReduce, Algorithm::kHalvingDoubling},
      {Collective::kAllReduce, Algorithm::kRing},
      {Collective::kAllReduce, Algorithm::kTree},
      {Collective::kAllReduce, Algorithm::kTwoLevel},
      {Collective::kAllGather, Algorithm::kRing},
      {Collective::kAllGather, Algorithm::kBruck},
      {Collective::kReduceScatter, Algorithm::kRing},
      {Collective::kReduceScatter, Algorithm::kPairwise},
      {Collective::kBroadcast, Algorithm::kRing},
      {Collective::kBroadcast, Algorithm::kTree},
      {Collective::kBroadcast, Algorithm::kBinomial},
      {Collective::kReduce, Algorithm::kRing},
      {Collective::kReduce, Algorithm::kTree},
      {Collective::kReduce, Algorithm::kBinomial},
      {Collective::kGather, Algorithm::kLinear},
      {Collective::kGather, Algorithm::kBinomial},
      {Collective::kScatter, Algorithm::kLinear},
      {Collective::kScatter, Algorithm::kBinomial},
      {Collective::kAllToAll, Algorithm::kPairwise},
      {Collective::kAllToAll, Algorithm::kBruck},
  }};
  // `bytes` as in Tuning::choose().
  static constexpr std::array<uint64_t, 10> kSizes = {
      8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20};

  uint32_t ranks = 0;  // 0: empty
  std::array<std::array<uint64_t, kSizes.size()>, kRows.size()> ns{};

  bool operator==(const CostTable&) const = default;

  // Along straight lines between the sizes; outside them the nearest size's. Nothing of what has no
  // row.
  std::optional<uint64_t> cost_ns(Collective collective, Algorithm algorithm, uint64_t bytes) const;
};

}  // namespace heddle::collectives
