// Closed forms keep the properties that the choice relies on, whatever the network's numbers.
#include "collectives/choice/estimate.h"

#include <gtest/gtest.h>

#include "collectives/cost_table.h"

namespace heddle::collectives {
namespace {

TEST(Estimate, GrowsWithTheDataOfEveryAlgorithm) {
  const Tuning network;
  for (const CostTable::Row& row : CostTable::kRows) {
    for (const uint32_t ranks : {2U, 3U, 8U, 13U, 1000U}) {
      uint64_t before = 0;
      for (const uint64_t bytes : CostTable::kSizes) {
        const uint64_t ns = estimated_ns(network, row.collective, row.algorithm, ranks, bytes);
        EXPECT_GE(ns, before) << name_of(row.collective) << " " << name_of(row.algorithm);
        before = ns;
      }
      EXPECT_GT(before, 0U);
    }
  }
}

TEST(Estimate, OfOneRankIsNothing) {
  EXPECT_EQ(estimated_ns(Tuning(), Collective::kAllReduce, Algorithm::kRing, 1, 1 << 20), 0U);
}

TEST(Estimate, ARingSendsLeastOfAllReduces) {
  for (const uint32_t ranks : {2U, 3U, 4U, 13U, 64U}) {
    const auto sent = [&](Algorithm algorithm) {
      return work_of(Collective::kAllReduce, algorithm, ranks, 1 << 20).sent;
    };
    for (const Algorithm other :
         {Algorithm::kTree, Algorithm::kRecursiveDoubling, Algorithm::kHalvingDoubling}) {
      EXPECT_LE(sent(Algorithm::kRing), sent(other)) << ranks << " " << name_of(other);
    }
  }
}

TEST(Estimate, ASmallMessageWaitsForNoGrantAndALargeOneDoes) {
  Tuning slow_grants;
  slow_grants.large_latency_ns = 10 * slow_grants.latency_ns;
  const auto both = [&](uint64_t bytes) {
    return std::pair{
        estimated_ns(Tuning(), Collective::kBroadcast, Algorithm::kBinomial, 8, bytes),
        estimated_ns(slow_grants, Collective::kBroadcast, Algorithm::kBinomial, 8, bytes)};
  };
  EXPECT_EQ(both(1024).first, both(1024).second);
  EXPECT_LT(both(1 << 20).first, both(1 << 20).second);
}

}  // namespace
}  // namespace heddle::collectives
