// Ranks agree on rank 0's tuning, and measure together where it asks for that, within the limits of
// a short measurement.
#include "collectives/communicator/agreement.h"

#include <gtest/gtest.h>

#include <cstring>
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

// All ranks make their steps at once; each takes what the closed form of `network` says.
Agreed agree(uint32_t ranks, const Tuning& offered, const Tuning& network) {
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
      if (each.call.collective == Collective::kBroadcast && each.call.output != each.call.input) {
        std::memcpy(each.call.output, steps[0].call.input, each.call.count);
      }
    }
    agreed.took += nanos(static_cast<int64_t>(
        estimated_ns(network, steps[0].call.collective, steps[0].algorithm, ranks,
                     steps[0].call.count * size_of(steps[0].call.type))));
    for (auto& each : all) done = each->end_step(agreed.took).value();
  }
  for (auto& each : all) agreed.tunings.push_back(each->tuning().value());
  agreed.measured = all[0]->measured();
  return agreed;
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
