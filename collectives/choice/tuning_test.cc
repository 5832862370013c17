// The choice of algorithms follows the model, and every rank makes the same.
#include "collectives/tuning.h"

#include <gtest/gtest.h>

#include <array>

namespace heddle::collectives {
namespace {

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

TEST(Tuning, WhatWasMeasuredCountsAtItsSizesAndLessAwayFromThem) {
  Tuning tuning;
  const auto cost = [&tuning](uint64_t bytes) {
    return tuning.cost_ns(Collective::kAllReduce, Algorithm::kRing, 4, bytes);
  };
  const std::array<uint64_t, 9> sizes = {1,         2 << 10, 16 << 10, 64 << 10, 128 << 10,
                                         256 << 10, 1 << 20, 2 << 20,  4 << 20};
  const std::array<double, 9> beside = {1, 1, 2, 4, 3.5, 3, 3, 2, 1};
  std::array<uint64_t, 9> said{};
  for (size_t i = 0; i < sizes.size(); ++i) said[i] = cost(sizes[i]);
  tuning.all_reduces[static_cast<size_t>(Algorithm::kRing)] = {
      2 * Tuning::kAsSaid, 4 * Tuning::kAsSaid, 3 * Tuning::kAsSaid};
  for (size_t i = 0; i < sizes.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(cost(sizes[i])), beside[i] * static_cast<double>(said[i]),
                0.01 * static_cast<double>(said[i]))
        << sizes[i];
  }
}

TEST(Tuning, EveryCollectiveHasAnAlgorithmForEverySize) {
  const Tuning tuning;
  for (uint32_t collective = 0; collective < kCollectives; ++collective) {
    for (const uint32_t size : {1U, 2U, 3U, 1000U}) {
      for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40}) {
        const auto kind = static_cast<Collective>(collective);
        EXPECT_TRUE(can_run(kind, tuning.choose(kind, size, bytes)));
      }
    }
  }
}

TEST(Tuning, TravelsWhole) {
  Tuning tuning = {.latency_ns = 1, .large_latency_ns = 4, .send_ps_per_byte = 2};
  tuning.reduce_ps_per_byte = 3;
  tuning.ring_ps_per_byte = 5;
  tuning.chunk_bytes = 70'000;
  tuning.burst_payload_bytes = 6;
  tuning.following_ns = 7;
  tuning.to_be_fitted = true;
  tuning.all_reduces[2] = {700, 4096, 5};
  ASSERT_TRUE(pin_algorithms("reduce:tree,barrier:dissemination", tuning));
  std::byte bytes[Tuning::kBytes];
  tuning.write(bytes);
  EXPECT_EQ(Tuning::read(bytes).value(), tuning);
}

TEST(Tuning, NumbersOfAnotherVersionAreRefused) {
  std::byte bytes[Tuning::kBytes];
  Tuning().write(bytes);
  for (const int value : {9, 77, 254}) {
    bytes[Tuning::kBytes - kCollectives] = static_cast<std::byte>(value);
    EXPECT_EQ(Tuning::read(bytes).error().code, ErrorCode::kVersion) << value;
  }
  bytes[Tuning::kBytes - kCollectives] = static_cast<std::byte>(Algorithm::kBruck);
  EXPECT_FALSE(Tuning::read(bytes)) << "there is no all-reduce of Bruck's";
}

}  // namespace
}  // namespace heddle::collectives
