// The choice of algorithms is the least row of a table, or the least closed form, and every rank
// makes the same.
#include "collectives/tuning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace heddle::collectives {
namespace {

// Every algorithm takes 1 ms at each size.
CostTable flat_table(uint32_t ranks) {
  CostTable table{.ranks = ranks};
  for (auto& row : table.ns) row.fill(1'000'000);
  return table;
}

size_t row_of(Collective collective, Algorithm algorithm) {
  for (size_t row = 0; row < CostTable::kRows.size(); ++row) {
    const CostTable::Row& each = CostTable::kRows[row];
    if (each.collective == collective && each.algorithm == algorithm) return row;
  }
  ADD_FAILURE() << name_of(collective) << " has no row of " << name_of(algorithm);
  return 0;
}

TEST(Tuning, LittleDataTakesFewRoundsAndMuchDataLittleTraffic) {
  const Tuning tuning;
  for (const uint32_t size : {4U, 8U, 13U, 64U}) {
    EXPECT_EQ(tuning.choose(Collective::kAllReduce, size, 8), Algorithm::kRecursiveDoubling);
    EXPECT_EQ(tuning.choose(Collective::kBroadcast, size, 8), Algorithm::kBinomial);
    EXPECT_EQ(tuning.choose(Collective::kAllGather, size, 8 * size), Algorithm::kBruck);
  }
  EXPECT_EQ(tuning.choose(Collective::kAllReduce, 13, 1 << 30), Algorithm::kRing);
  EXPECT_EQ(tuning.choose(Collective::kBroadcast, 8, 1 << 30), Algorithm::kRing);
  EXPECT_EQ(tuning.choose(Collective::kAllToAll, 8, 1 << 30), Algorithm::kPairwise);
}

TEST(Tuning, EveryAlgorithmAmongWhichThereIsAChoiceHasOneRow) {
  for (uint32_t i = 0; i < kCollectives; ++i) {
    std::vector<Algorithm> offered;
    for (uint32_t j = 0; j < kAlgorithms; ++j) {
      if (can_run(static_cast<Collective>(i), static_cast<Algorithm>(j))) {
        offered.push_back(static_cast<Algorithm>(j));
      }
    }
    for (const Algorithm each : offered) {
      const auto rows =
          std::count_if(CostTable::kRows.begin(), CostTable::kRows.end(), [&](const auto& row) {
            return row.collective == static_cast<Collective>(i) && row.algorithm == each;
          });
      EXPECT_EQ(rows, offered.size() > 1 ? 1 : 0) << name_of(static_cast<Collective>(i));
    }
  }
}

TEST(Tuning, TheCheapestRowAtASizeIsChosen) {
  for (const CostTable::Row& cheapest : CostTable::kRows) {
    Tuning tuning;
    tuning.group_ranks = 2;
    tuning.costs = flat_table(4);
    tuning.costs.ns[row_of(cheapest.collective, cheapest.algorithm)].fill(900'000);
    for (const uint64_t bytes : {1ULL, 8ULL, 5000ULL, 1ULL << 20, 1ULL << 40}) {
      EXPECT_EQ(tuning.choose(cheapest.collective, 4, bytes), cheapest.algorithm);
    }
  }
}

TEST(Tuning, BetweenTwoSizesCostsLieOnALine) {
  Tuning tuning;
  tuning.costs = flat_table(4);
  auto& ring = tuning.costs.ns[row_of(Collective::kAllReduce, Algorithm::kRing)];
  for (size_t i = 0; i < ring.size(); ++i) ring[i] = CostTable::kSizes[i] * 10;
  const auto cost = [&](uint64_t bytes) {
    return tuning.cost_ns(Collective::kAllReduce, Algorithm::kRing, 4, bytes);
  };
  for (const uint64_t bytes : {8ULL, 500ULL, 16'384ULL, 100'000ULL, 3'000'000ULL}) {
    EXPECT_NEAR(static_cast<double>(cost(bytes)), static_cast<double>(bytes) * 10, 2.0);
  }
  EXPECT_EQ(cost(1), ring.front());
  EXPECT_EQ(cost(uint64_t{1} << 40), ring.back());
}

TEST(Tuning, ATableOfOtherRanksDoesNotCount) {
  Tuning tuning;
  tuning.costs = flat_table(4);
  tuning.costs.ns[row_of(Collective::kAllReduce, Algorithm::kTree)].fill(1);
  EXPECT_EQ(tuning.choose(Collective::kAllReduce, 4, 1 << 30), Algorithm::kTree);
  EXPECT_EQ(tuning.choose(Collective::kAllReduce, 8, 1 << 30),
            Tuning().choose(Collective::kAllReduce, 8, 1 << 30));
}

TEST(Tuning, APinnedAlgorithmWinsOverTheTable) {
  Tuning tuning;
  tuning.costs = flat_table(4);
  tuning.costs.ns[row_of(Collective::kAllReduce, Algorithm::kTree)].fill(1);
  ASSERT_TRUE(pin_algorithms("allreduce:ring", tuning));
  EXPECT_EQ(tuning.choose(Collective::kAllReduce, 4, 8), Algorithm::kRing);
}

TEST(Tuning, TwoLevelsAreChosenWhereThereAreGroupsOnly) {
  Tuning tuning;
  tuning.costs = flat_table(12);
  tuning.costs.ns[row_of(Collective::kAllReduce, Algorithm::kTwoLevel)].fill(1);
  for (const uint32_t no_groups : {0U, 1U, 5U, 12U, 24U}) {
    tuning.group_ranks = no_groups;
    EXPECT_NE(tuning.choose(Collective::kAllReduce, 12, 1 << 20), Algorithm::kTwoLevel);
  }
  tuning.group_ranks = 6;
  EXPECT_EQ(tuning.choose(Collective::kAllReduce, 12, 1 << 20), Algorithm::kTwoLevel);
}

TEST(Tuning, GroupsArePinnedWithTheirAlgorithm) {
  Tuning tuning;
  ASSERT_TRUE(pin_algorithms("alltoall:bruck,allreduce:two_level/6", tuning));
  EXPECT_EQ(tuning.group_ranks_among(12), 6U);
  tuning.group_ranks = 4;
  EXPECT_EQ(tuning.group_ranks_among(12), 6U) << "what is measured does not count";
  EXPECT_EQ(tuning.group_ranks_among(13), 13U);
  EXPECT_EQ(tuning.choose(Collective::kAllReduce, 12, 8), Algorithm::kTwoLevel);
  EXPECT_TRUE(pin_algorithms("allreduce:two_level", tuning));
  for (const char* wrong :
       {"allreduce:two_level/", "allreduce:two_level/1", "allreduce:two_level/x",
        "allreduce:two_level/4x", "allreduce:two_level/-2", "allreduce:ring/4",
        "allreduce:two_level/99999999999"}) {
    const Result<void> pinned = pin_algorithms(wrong, tuning);
    ASSERT_FALSE(pinned) << wrong;
    EXPECT_EQ(pinned.error().code, ErrorCode::kInvalid) << wrong;
  }
}

TEST(Tuning, EveryCollectiveHasAnAlgorithmForEverySize) {
  Tuning measured;
  measured.costs = flat_table(3);
  for (const Tuning& tuning : {Tuning(), measured}) {
    for (uint32_t collective = 0; collective < kCollectives; ++collective) {
      for (const uint32_t size : {1U, 2U, 3U, 1000U}) {
        for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40}) {
          const auto kind = static_cast<Collective>(collective);
          EXPECT_TRUE(can_run(kind, tuning.choose(kind, size, bytes)));
        }
      }
    }
  }
}

TEST(Tuning, TravelsWhole) {
  Tuning tuning = {.latency_ns = 1, .large_latency_ns = 4, .send_ps_per_byte = 2};
  tuning.reduce_ps_per_byte = 3;
  tuning.chunk_bytes = 70'000;
  tuning.burst_payload_bytes = 6;
  tuning.following_ns = 7;
  tuning.group_ranks = 8;
  tuning.pinned_group_ranks = 16;
  tuning.to_be_measured = true;
  tuning.costs = flat_table(5);
  tuning.costs.ns.back().back() = uint64_t{1} << 40;
  ASSERT_TRUE(pin_algorithms("reduce:tree,barrier:dissemination", tuning));
  std::byte bytes[Tuning::kBytes];
  tuning.write(bytes);
  EXPECT_EQ(Tuning::read(bytes).value(), tuning);
}

TEST(Tuning, OfAnotherVersionIsRefused) {
  std::byte bytes[Tuning::kBytes];
  Tuning().write(bytes);
  for (const int value : {10, 77, 254}) {
    bytes[Tuning::kBytes - kCollectives] = static_cast<std::byte>(value);
    EXPECT_EQ(Tuning::read(bytes).error().code, ErrorCode::kVersion) << value;
  }
  bytes[Tuning::kBytes - kCollectives] = static_cast<std::byte>(Algorithm::kBruck);
  EXPECT_FALSE(Tuning::read(bytes)) << "there is no all-reduce of Bruck's";
}

}  // namespace
}  // namespace heddle::collectives
