// The tuner's model: properties over collectives, algorithms, sizes and groups.
#include "plugins/nccl/tuner/model.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace heddle::nccl {
namespace {

using Costs = std::array<float, static_cast<size_t>(kTunerAlgorithms* kTunerProtocols)>;

constexpr MeasuredNetwork kNetwork = {
    .goodput = {40'000'000'000}, .connection_goodput = {10'000'000'000}, .one_way = {20'000}};
constexpr std::array<TunedGroup, 5> kGroups = {{{2, 2}, {4, 4}, {16, 2}, {64, 8}, {24, 3}}};

size_t at(int algorithm, int protocol) {
  return static_cast<size_t>(algorithm * kTunerProtocols + protocol);
}

Costs nothing_offered() {
  Costs costs;
  costs.fill(kTunerIgnored);
  return costs;
}

// Ring and tree with costs as for a network of 400 Gb/s and 5 us.
Costs offered(const TunedGroup& group, uint64_t bytes) {
  const MeasuredNetwork fast = {
      .goodput = {400'000'000'000}, .connection_goodput = {}, .one_way = {5'000}};
  Costs costs = nothing_offered();
  for (const int algorithm : {kTunerTree, kTunerRing}) {
    for (int protocol = 0; protocol < kTunerProtocols; ++protocol) {
      costs[at(algorithm, protocol)] = static_cast<float>(
          *network_us(fast, kStepDelays, group, {.bytes = bytes}, {algorithm, protocol}));
    }
  }
  return costs;
}

std::optional<TunedChoice> chosen(const MeasuredNetwork& network, const TunedGroup& group,
                                  uint64_t bytes, Costs& costs) {
  return choose(network, kStepDelays, group, {.bytes = bytes}, {costs, kTunerProtocols});
}

TEST(TunerModel, TheCostRisesWithTheBytesAndWithTheDelayAndFallsWithTheRate) {
  MeasuredNetwork slower = kNetwork;
  slower.goodput = {20'000'000'000};
  MeasuredNetwork later = kNetwork;
  later.one_way = {30'000};
  int compared = 0;
  for (const TunedGroup& group : kGroups) {
    for (int function = 0; function < kTunerFunctions; ++function) {
      for (int algorithm = 0; algorithm < kTunerAlgorithms; ++algorithm) {
        for (int protocol = 0; protocol < kTunerProtocols; ++protocol) {
          double before = 0;
          for (uint64_t bytes = 1; bytes < uint64_t{1} << 36; bytes *= 8) {
            const TunedCall call = {.function = function, .bytes = bytes};
            const auto us = network_us(kNetwork, kStepDelays, group, call, {algorithm, protocol});
            if (!us) continue;
            EXPECT_GT(*us, before);
            EXPECT_GT(*network_us(slower, kStepDelays, group, call, {algorithm, protocol}), *us);
            EXPECT_GT(*network_us(later, kStepDelays, group, call, {algorithm, protocol}), *us);
            before = *us;
            ++compared;
          }
        }
      }
    }
  }
  // Per group and size: all-reduce by three algorithms, two others by two and two by one, each by
  // three protocols.
  EXPECT_EQ(compared, 5 * 12 * 3 * (3 + 2 + 2 + 1 + 1));
}

TEST(TunerModel, ALargeRingTakesTheTimeOfItsBytes) {
  // 2 (n - 1) / n of 4 GB at 5 GB/s, and 6 steps of 20 + 9 us.
  const auto us = network_us(kNetwork, kStepDelays, {4, 4}, {.bytes = 4'000'000'000},
                             {kTunerRing, kTunerSimple});
  EXPECT_NEAR(us.value(), 1'200'000 + 6 * 29, 0.01);
}

TEST(TunerModel, WhatDoesNotUseTheNetworkOrIsUnknownHasNoCost) {
  const auto known = [](const TunedGroup& group, int function, int algorithm, int protocol) {
    const TunedCall call = {.function = function, .bytes = 1'000};
    return network_us(kNetwork, kStepDelays, group, call, {algorithm, protocol}).has_value();
  };
  EXPECT_TRUE(known({4, 2}, kTunerAllReduce, kTunerRing, kTunerSimple));
  EXPECT_FALSE(known({4, 1}, kTunerAllReduce, kTunerRing, kTunerSimple));
  EXPECT_FALSE(known({1, 1}, kTunerAllReduce, kTunerRing, kTunerSimple));
  EXPECT_FALSE(known({1, 2}, kTunerAllReduce, kTunerRing, kTunerSimple));
  EXPECT_FALSE(known({0, 0}, kTunerAllReduce, kTunerRing, kTunerSimple));
  EXPECT_FALSE(known({4, 2}, kTunerAllReduce, kTunerCollnetDirect, kTunerSimple));
  EXPECT_FALSE(known({4, 2}, kTunerAllReduce, kTunerNvls, kTunerSimple));
  EXPECT_FALSE(known({4, 2}, kTunerAllReduce, kTunerPat, kTunerSimple));
  EXPECT_FALSE(known({4, 2}, kTunerBroadcast, kTunerTree, kTunerSimple));
  EXPECT_FALSE(known({4, 2}, 5, kTunerRing, kTunerSimple));
  EXPECT_FALSE(known({4, 2}, -1, kTunerRing, kTunerSimple));
  EXPECT_FALSE(known({4, 2}, kTunerAllReduce, 7, kTunerSimple));
  EXPECT_FALSE(known({4, 2}, kTunerAllReduce, kTunerRing, 3));
}

TEST(TunerModel, CostsAreRaisedAndNeverLoweredAndTheIgnoredStayIgnored) {
  Random random(7);
  for (int round = 0; round < 2'000; ++round) {
    const TunedGroup group = kGroups[random.below(kGroups.size())];
    Costs costs = nothing_offered();
    for (const int algorithm : {kTunerTree, kTunerRing}) {
      for (int protocol = 0; protocol < kTunerProtocols; ++protocol) {
        if (random.below(3) == 0) continue;
        costs[at(algorithm, protocol)] = static_cast<float>(1 + random.below(10'000));
      }
    }
    const Costs before = costs;
    const auto choice = chosen(kNetwork, group, 1 + random.below(uint64_t{1} << 30), costs);
    for (size_t i = 0; i < costs.size(); ++i) {
      if (before[i] < 0) {
        EXPECT_EQ(costs[i], kTunerIgnored);
      } else {
        EXPECT_GE(costs[i], before[i]);
      }
    }
    if (!choice) {
      EXPECT_EQ(costs, before);
      continue;
    }
    const float least = costs[at(choice->algorithm, choice->protocol)];
    EXPECT_GE(least, 0.0F);
    EXPECT_EQ(least, static_cast<float>(choice->us));
    for (const float each : costs) EXPECT_TRUE(each < 0 || each >= least);
  }
}

TEST(TunerModel, SmallCallsTakeFewStepsAndLargeOnesFewBytes) {
  const TunedGroup group = {8, 8};
  Costs small = offered(group, 1'024);
  const auto few = chosen(kNetwork, group, 1'024, small);
  ASSERT_TRUE(few.has_value());
  EXPECT_EQ(few->algorithm, kTunerTree);
  EXPECT_EQ(few->protocol, kTunerLl);
  Costs large = offered(group, 1 << 30);
  const auto many = chosen(kNetwork, group, 1 << 30, large);
  ASSERT_TRUE(many.has_value());
  EXPECT_EQ(many->algorithm, kTunerRing);
  EXPECT_EQ(many->protocol, kTunerSimple);
}

TEST(TunerModel, ASlowNetworkMovesACallFromTheRingToTheTree) {
  // NCCL would have a ring of LL at 5 us a step; at 500 us a step the tree has 6 steps and not 14.
  const TunedGroup group = {8, 8};
  Costs costs = nothing_offered();
  costs[at(kTunerRing, kTunerLl)] = 80;
  costs[at(kTunerTree, kTunerLl)] = 90;
  MeasuredNetwork far = kNetwork;
  far.one_way = {500'000};
  const auto choice = chosen(far, group, 4'096, costs);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->algorithm, kTunerTree);
  EXPECT_EQ(choice->instead_of_algorithm, kTunerRing);
  EXPECT_EQ(choice->instead_of_protocol, kTunerLl);
}

TEST(TunerModel, AnOfferThatTheModelDoesNotKnowLeavesAllCosts) {
  const TunedGroup group = {16, 4};
  for (const int algorithm : {kTunerCollnetDirect, kTunerCollnetChain, kTunerNvls}) {
    Costs costs = offered(group, 1 << 20);
    costs[at(algorithm, kTunerSimple)] = 1e6F;
    const Costs before = costs;
    EXPECT_FALSE(chosen(kNetwork, group, 1 << 20, costs).has_value());
    EXPECT_EQ(costs, before);
  }
}

TEST(TunerModel, ATableThatOffersNothingIsLeft) {
  Costs costs = nothing_offered();
  costs[0] = std::nanf("");
  EXPECT_FALSE(chosen(kNetwork, {4, 4}, 1'000, costs).has_value());
  EXPECT_TRUE(std::isnan(costs[0]));
  EXPECT_FALSE(choose(kNetwork, kStepDelays, {4, 4}, {.bytes = 1}, {{}, kTunerProtocols}));
}

TEST(TunerModel, WhatNcclPutsLastIsNotChosenHoweverSlowTheNetwork) {
  // NCCL multiplies the ring's costs of 8-bit floats by 1024.
  const TunedGroup group = {16, 16};
  MeasuredNetwork slow = kNetwork;
  slow.goodput = {1'000'000};
  slow.connection_goodput = {};
  Costs costs = nothing_offered();
  costs[at(kTunerRing, kTunerSimple)] = 100.0F * 1024;
  costs[at(kTunerTree, kTunerSimple)] = 100;
  const Costs before = costs;
  EXPECT_FALSE(chosen(slow, group, 1 << 30, costs).has_value());
  EXPECT_EQ(costs, before);
}

TEST(TunerModel, MergedOperationsCostTheRingMoreLatencyThanTheTree) {
  const auto us = [](int algorithm, uint64_t operations) {
    return *network_us(kNetwork, kStepDelays, {4, 4}, {.bytes = 1, .operations = operations},
                       {algorithm, kTunerLl});
  };
  EXPECT_NEAR(us(kTunerRing, 8), 8 * us(kTunerRing, 1), 0.1);
  EXPECT_NEAR(us(kTunerTree, 8), us(kTunerTree, 1), 0.1);
  EXPECT_NEAR(us(kTunerTree, 9), 2 * us(kTunerTree, 1), 0.1);
  EXPECT_EQ(us(kTunerRing, 0), us(kTunerRing, 1));
}

TEST(TunerModel, ChannelsGrowWithTheBytesUpToThoseThatFillTheNetwork) {
  EXPECT_EQ(most_channels(kNetwork), 4);
  for (const TunedGroup& group : kGroups) {
    int before = 1;
    for (uint64_t bytes = 1; bytes < uint64_t{1} << 40; bytes *= 2) {
      const int channels = channels_for(kNetwork, group, {.bytes = bytes});
      EXPECT_GE(channels, before);
      EXPECT_LE(channels, 4);
      before = channels;
    }
    EXPECT_EQ(before, 4);
  }
}

TEST(TunerModel, ChannelsAreBoundedWhateverWasMeasured) {
  Random random(11);
  for (int round = 0; round < 2'000; ++round) {
    const uint64_t goodput = 100'000 + random.below(uint64_t{1} << 46);
    const MeasuredNetwork network = {.goodput = {goodput},
                                     .connection_goodput = {1 + random.below(goodput)},
                                     .one_way = {static_cast<int64_t>(1 + random.below(1 << 30))}};
    EXPECT_GE(most_channels(network), 2);
    EXPECT_LE(most_channels(network), 32) << "NCCL's MAXCHANNELS";
    const int channels = channels_for(network, {8, 4}, {.bytes = random.below(uint64_t{1} << 62)});
    EXPECT_GE(channels, 1);
    EXPECT_LE(channels, 32);
  }
  MeasuredNetwork unknown = kNetwork;
  unknown.connection_goodput = {};
  EXPECT_EQ(channels_for(unknown, {8, 4}, {.bytes = 1 << 30}), 0);
  // One connection fills 100 Gb/s, one GPU's channel does not.
  const MeasuredNetwork wide = {
      .goodput = {100'000'000'000}, .connection_goodput = {100'000'000'000}, .one_way = {5'000}};
  EXPECT_EQ(most_channels(wide), 3);
}

TEST(TunerModel, ChunksAreNcclsHalvedAndNoSmallerThanTheLeast) {
  constexpr uint64_t kChunk = 524'288;
  uint64_t before = 0;
  for (uint64_t bytes = 1; bytes < uint64_t{1} << 36; bytes *= 2) {
    const uint64_t chunk =
        chunk_for(kNetwork, {8, 8}, {.function = kTunerAllReduce, .bytes = bytes},
                  {kTunerTree, kTunerSimple}, kChunk);
    EXPECT_EQ(kChunk % chunk, 0u);
    EXPECT_GE(chunk, kLeastChunk);
    EXPECT_GE(chunk, before);
    EXPECT_TRUE(bytes > 1 || chunk == kLeastChunk);
    before = chunk;
  }
  EXPECT_EQ(before, kChunk);
}

TEST(TunerModel, ChunksStayWhereThereIsNoPipelineOfNodesOrNothingIsKnown) {
  const auto chunk = [](const MeasuredNetwork& network, const TunedGroup& group, int function,
                        int algorithm, int protocol, uint64_t size = 524'288) {
    return chunk_for(network, group, {.function = function, .bytes = 1'000}, {algorithm, protocol},
                     size);
  };
  MeasuredNetwork unknown = kNetwork;
  unknown.connection_goodput = {};
  EXPECT_LT(chunk(kNetwork, {8, 8}, kTunerBroadcast, kTunerRing, kTunerSimple), 524'288u);
  EXPECT_EQ(chunk(kNetwork, {8, 8}, kTunerAllReduce, kTunerRing, kTunerSimple), 524'288u);
  EXPECT_EQ(chunk(kNetwork, {8, 8}, kTunerAllReduce, kTunerTree, kTunerLl), 524'288u);
  EXPECT_EQ(chunk(kNetwork, {8, 2}, kTunerAllReduce, kTunerTree, kTunerSimple), 524'288u);
  EXPECT_EQ(chunk(unknown, {8, 8}, kTunerAllReduce, kTunerTree, kTunerSimple), 524'288u);
  EXPECT_EQ(chunk(kNetwork, {8, 8}, kTunerAllReduce, kTunerTree, kTunerSimple, 4'096), 4'096u);
  EXPECT_EQ(chunk(kNetwork, {8, 8}, kTunerAllReduce, kTunerTree, kTunerSimple, 0), 0u);
}

TEST(TunerModel, DelaysOfStepsComeFromSaneConstantsOnly) {
  double latencies[kTunerAlgorithms][kTunerProtocols] = {{5.0, 8.5, 14.0}};
  EXPECT_EQ(step_delays(latencies), kStepDelays);
  latencies[0][1] = 7.0;
  EXPECT_EQ(step_delays(latencies), (StepDelays{0.0, 2.0, 9.0}));
  for (const double odd : {0.0, -1.0, 1.0, 1e9, std::nan("")}) {
    latencies[0][2] = odd;
    EXPECT_EQ(step_delays(latencies), kStepDelays) << odd;
  }
}

}  // namespace
}  // namespace heddle::nccl
