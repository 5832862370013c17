// Ranks agree on rank 0's tuning, and measure together where it asks for that, within the limits of
// a short measurement.
#include "collectives/communicator/agreement.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "collectives/choice/estimate.h"
#include "collectives/params.h"

namespace heddle::collectives {
namespace {

struct Agreed {
  std::vector<Tuning> tunings;  // by rank
  uint32_t calls = 0;
  Nanos took;
  bool measured = false;
};

// What a call takes.
using Took = std::function<uint64_t(const Agreement::Step&)>;

// All ranks make their steps at once.
Agreed agree(uint32_t ranks, const Tuning& offered, const Took& took) {
  std::vector<std::unique_ptr<Agreement>> all;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    all.push_back(std::make_unique<Agreement>(rank, ranks, rank == 0 ? offered : Tuning()));
  }
  Agreed agreed;
  for (bool done = false; !done; ++agreed.calls) {
    std::vector<Agreement::Step> steps;
    for (auto& each : all) steps.push_back(each->begin_step(agreed.took));
    for (const Agreement::Step& each : steps) {
      EXPECT_EQ(each.number, steps[0].number);
      EXPECT_EQ(each.algorithm, steps[0].algorithm);
      EXPECT_EQ(each.call.collective, steps[0].call.collective);
      EXPECT_EQ(each.call.count, steps[0].call.count);
      EXPECT_EQ(each.call.group_ranks, steps[0].call.group_ranks);
      if (each.call.collective == Collective::kBroadcast && each.call.output != each.call.input) {
        std::memcpy(each.call.output, steps[0].call.input, each.call.count);
      }
    }
    agreed.took += nanos(static_cast<int64_t>(took(steps[0])));
    for (auto& each : all) done = each->end_step(agreed.took).value();
  }
  for (auto& each : all) agreed.tunings.push_back(each->tuning().value());
  agreed.measured = all[0]->measured();
  return agreed;
}

// Each step takes what the closed form of `network` says.
Agreed agree(uint32_t ranks, const Tuning& offered, const Tuning& network) {
  return agree(ranks, offered, [&](const Agreement::Step& step) {
    return estimated_ns(network, step.call.collective, step.algorithm, ranks,
                        step.call.count * size_of(step.call.type));
  });
}

TEST(Agreement, WithoutMeasuringIsOneBroadcastOfRankZerosTuning) {
  Tuning offered;
  offered.chunk_bytes = 4096;
  const Agreed agreed = agree(5, offered, Tuning());
  EXPECT_EQ(agreed.calls, 1U);
  EXPECT_FALSE(agreed.measured);
  for (const Tuning& each : agreed.tunings) EXPECT_EQ(each, offered);
}

TEST(Agreement, MeasuredCostsAreThoseOfTheNetworkOnAllRanks) {
  for (const uint32_t ranks : {2U, 3U, 4U, 16U, 17U}) {
    Tuning network;
    network.send_ps_per_byte = 800;
    const Agreed agreed = agree(ranks, {.to_be_measured = true}, network);
    EXPECT_TRUE(agreed.measured) << ranks;
    EXPECT_LT(agreed.calls, 140U) << ranks;
    for (const Tuning& each : agreed.tunings) {
      EXPECT_EQ(each, agreed.tunings[0]);
      EXPECT_EQ(each.costs.ranks, ranks);
      EXPECT_FALSE(each.to_be_measured);
      EXPECT_NEAR(each.send_ps_per_byte, 800, 80);
    }
  }
}

TEST(Agreement, OnASlowNetworkEndsAboutInTime) {
  for (const uint32_t megabits : {10'000U, 1'000U, 100U, 20U}) {
    Tuning network;
    network.latency_ns = 100'000;
    network.send_ps_per_byte = 8'000'000 / megabits;
    const Agreed agreed = agree(4, {.to_be_measured = true}, network);
    // Two groups of calls are always made: of 8 bytes and of 16 KiB.
    const Nanos always =
        20 * nanos(static_cast<int64_t>(estimated_ns(network, Collective::kAllReduce,
                                                     Algorithm::kRecursiveDoubling, 4, 16 << 10)));
    EXPECT_LT(agreed.took, params::kShortTime + always) << megabits;
    EXPECT_EQ(agreed.tunings[3].costs.ranks, 4U);
  }
}

// Twelve ranks on two leaves of six, joined by a link of 20 Mb/s and 40 ms round trip. The border
// is what a call waits for: how often it is crossed one after the other, and by how much.
uint64_t over_two_leaves(const Agreement::Step& step) {
  const double bytes = static_cast<double>(step.call.count * size_of(step.call.type));
  double crossings = 4;
  double crossing_bytes = 2 * bytes;
  if (step.algorithm == Algorithm::kTwoLevel && step.call.group_ranks == 6) {
    crossings = 2;
    crossing_bytes = bytes;
  }
  return static_cast<uint64_t>(crossings * 20e6 + crossing_bytes * 400);
}

TEST(Agreement, ASlowLinkBetweenTwoHalvesGivesGroupsOfThose) {
  const Agreed agreed = agree(12, {.to_be_measured = true}, over_two_leaves);
  for (const Tuning& each : agreed.tunings) {
    EXPECT_EQ(each, agreed.tunings[0]);
    EXPECT_EQ(each.group_ranks, 6U);
    for (const uint64_t bytes : {uint64_t{64} << 10, uint64_t{25} << 20, uint64_t{200} << 20}) {
      EXPECT_EQ(each.choose(Collective::kAllReduce, 12, bytes), Algorithm::kTwoLevel) << bytes;
    }
  }
  EXPECT_LT(agreed.took, seconds(20));
}

TEST(Agreement, OfPinnedGroupsNoOtherSizeIsTried) {
  for (const uint32_t pinned : {4U, 5U}) {
    const Tuning offered = {.pinned_group_ranks = pinned, .to_be_measured = true};
    const Agreed agreed = agree(12, offered, [&](const Agreement::Step& step) {
      if (step.algorithm == Algorithm::kTwoLevel) {
        EXPECT_EQ(step.call.group_ranks, pinned);
      }
      return over_two_leaves(step);
    });
    EXPECT_EQ(agreed.tunings[11].group_ranks_among(12), pinned == 4 ? 4U : 12U);
  }
}

TEST(Agreement, OneRankAloneMeasuresNothing) {
  const Agreed agreed = agree(1, {.to_be_measured = true}, Tuning());
  EXPECT_EQ(agreed.calls, 1U);
  EXPECT_FALSE(agreed.tunings[0].to_be_measured);
}

TEST(Agreement, OfAnotherVersionIsRefused) {
  Agreement other(1, 2, Tuning());
  const Agreement::Step step = other.begin_step(Nanos{});
  std::memset(step.call.output, 0, step.call.count);
  EXPECT_EQ(other.end_step(Nanos{}).error().code, ErrorCode::kVersion);
}

}  // namespace
}  // namespace heddle::collectives
