// Transits of rings and exchanges whose arrivals follow from their links' times.
#include "insight/diagnosis/transits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace heddle::insight {
namespace {

constexpr uint32_t kRanks = 4;
constexpr uint32_t kRounds = 6;
constexpr int64_t kUsual = 1000;  // ns on a link
constexpr int64_t kSlow = 5000;

class TransitsTest : public ::testing::Test {
 protected:
  TransitsTest() : processes_(kRanks) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      processes_[rank].party.host = "h" + std::to_string(rank);
      operation_.parts.push_back({.process = rank, .made = 0, .started = 0});
    }
  }

  // Each rank sends to the next what it received in the round before; the link from `slow` is slow.
  void run_ring(uint32_t slow) {
    std::vector<int64_t> ready(kRanks);
    std::vector<int64_t> last(kRanks);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      ready[rank] = last[rank] = operation_.parts[rank].started;
    }
    for (uint32_t round = 0; round < kRounds; ++round) {
      std::vector<int64_t> next(kRanks);
      for (uint32_t from = 0; from < kRanks; ++from) {
        const uint32_t to = (from + 1) % kRanks;
        next[to] = std::max(ready[from], last[to]) + (from == slow ? kSlow : kUsual);
        arrive(from, to, next[to]);
      }
      ready = last = next;
    }
  }

  // Pairs whose ranks add up to the round exchange.
  void run_exchange(uint32_t slow_sender) {
    operation_.algorithm = events::Algorithm::kPairwise;
    std::vector<int64_t> free(kRanks);
    for (uint32_t round = 0; round < kRanks; ++round) {
      std::vector<int64_t> next = free;
      for (uint32_t from = 0; from < kRanks; ++from) {
        const uint32_t to = (round + kRanks - from) % kRanks;
        if (to == from) continue;
        const int64_t at = std::max(free[from], free[to]) + (from == slow_sender ? kSlow : kUsual);
        arrive(from, to, at);
        next[from] = std::max(next[from], at);
        next[to] = std::max(next[to], at);
      }
      free = next;
    }
  }

  void arrive(uint32_t from, uint32_t to, int64_t at) {
    Inflow& inflow = operation_.parts[to].from(from);
    ++inflow.messages;
    inflow.arrivals.push_back(at + ahead_[to]);
  }

  double least(uint32_t from, uint32_t to) {
    return operation_.parts[to].from(from).least_transit_ns;
  }
  double most(uint32_t from, uint32_t to) {
    return operation_.parts[to].from(from).most_transit_ns;
  }

  std::vector<ProcessFacts> processes_;
  Operation operation_;
  std::vector<int64_t> ahead_ = std::vector<int64_t>(kRanks);  // the ranks' clocks
};

TEST_F(TransitsTest, ALateRankMakesNoLinkOfARingSlow) {
  operation_.parts[2].started = 20'000;
  run_ring(kRanks);
  measure_transits(processes_, operation_);
  for (const uint32_t from : {0u, 2u, 3u}) {
    EXPECT_EQ(most(from, (from + 1) % kRanks), kRounds * kUsual) << from;
  }
  EXPECT_EQ(least(1, 2), kRounds * kUsual);
}

// It came before its receiver started. Other links looked slow beside it.
TEST_F(TransitsTest, AMessageThatWaitedForItsReceiverHasAnUnknownTransit) {
  operation_.parts[2].started = 20'000;
  run_ring(kRanks);
  Inflow& inflow = operation_.parts[2].from(1);
  inflow.arrivals[0] = 20'000;
  measure_transits(processes_, operation_);
  EXPECT_EQ(least(1, 2), kRounds * kUsual);
  EXPECT_EQ(most(1, 2), kRounds * kUsual + 20'000);
}

TEST_F(TransitsTest, WithoutKnownClocksTransitsOfARingAreBoundedByTheReceiversTimes) {
  for (ProcessFacts& process : processes_) process.end.clock_error_ns = -1;
  run_ring(kRanks);
  measure_transits(processes_, operation_);
  for (uint32_t from = 0; from < kRanks; ++from) {
    EXPECT_EQ(most(from, (from + 1) % kRanks), kRounds * kUsual) << from;
  }
}

TEST_F(TransitsTest, ASlowLinkOfARingMakesNoOtherSlow) {
  run_ring(1);
  measure_transits(processes_, operation_);
  EXPECT_EQ(least(1, 2), kRounds * kSlow);
  for (const uint32_t from : {0u, 2u, 3u}) {
    EXPECT_EQ(most(from, (from + 1) % kRanks), kRounds * kUsual) << from;
  }
}

TEST_F(TransitsTest, OnlyWhatASlowSenderSendsIsSlow) {
  run_exchange(3);
  measure_transits(processes_, operation_);
  for (uint32_t to = 0; to < kRanks; ++to) {
    for (uint32_t from = 0; from < kRanks; ++from) {
      if (from == to) continue;
      EXPECT_EQ(most(from, to), from == 3 ? kSlow : kUsual) << from << " to " << to;
    }
  }
}

TEST_F(TransitsTest, ErrorsOfClocksGiveBounds) {
  ahead_ = {0, 300, -300, 200};
  for (ProcessFacts& process : processes_) process.end.clock_error_ns = 300;
  run_ring(kRanks);
  measure_transits(processes_, operation_);
  for (uint32_t from = 0; from < kRanks; ++from) {
    EXPECT_LT(least(from, (from + 1) % kRanks), kRounds * kUsual) << from;
    EXPECT_GE(most(from, (from + 1) % kRanks), (kRounds - 1) * kUsual) << from;
  }
}

TEST_F(TransitsTest, TreesHaveNone) {
  arrive(0, 1, 100);
  arrive(1, 2, 200);
  measure_transits(processes_, operation_);
  EXPECT_EQ(most(0, 1), -1);
  EXPECT_TRUE(operation_.parts[1].inflows[0].arrivals.empty());
}

}  // namespace
}  // namespace heddle::insight
