// Transits of rings and exchanges whose arrivals follow from their links' times.
#include "insight/diagnosis/transits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "insight/diagnosis/nic_shares.h"

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
        Arrival& arrival = operation_.parts[to].from(from).arrivals.back();
        arrival.posted = arrival.at;  // when is not known
        next[from] = std::max(next[from], at);
        next[to] = std::max(next[to], at);
      }
      free = next;
    }
  }

  void arrive(uint32_t from, uint32_t to, int64_t at) {
    Inflow& inflow = operation_.parts[to].from(from);
    ++inflow.messages;
    inflow.arrivals.push_back({.at = at + ahead_[to], .bytes = 1});
  }

  struct Times {
    int64_t posted = 0;
    int64_t at = 0;
  };
  // Its receiver has posted it from the beginning.
  void send(uint32_t from, uint32_t to, const Times& times) {
    arrive(from, to, times.at);
    operation_.parts[to].from(from).arrivals.back().sequence = ++sent_;
    operation_.parts[from].departures.push_back(
        {.posted = times.posted, .to = to, .sequence = sent_});
  }
  // The message of `from` to `to`, which `from` posts at `begin`: after its exchange before.
  void exchange(uint32_t from, uint32_t to, int64_t begin) {
    send(from, to, {.posted = begin, .at = begin + (from == 3 ? kSlow : kUsual)});
  }

  double least(uint32_t from, uint32_t to) {
    return operation_.parts[to].from(from).alone.least_ns;
  }
  double most(uint32_t from, uint32_t to) { return operation_.parts[to].from(from).alone.most_ns; }

  std::vector<ProcessFacts> processes_;
  Operation operation_;
  uint32_t sent_ = 0;                                          // messages of send()
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
  inflow.arrivals[0].at = 20'000;
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

// Each rank has posted all from the beginning, and its NIC carries them at once: those that come
// last have taken as long for their share of it as the first ones. Rank 1 looked slow, whose
// messages met those of the rank before it.
// By its clock rank 1 receives rank 3's slow message after rank 0 has got the one that waited for
// it.
TEST_F(TransitsTest, AMessageThatSeemsToComeBeforeTheOneItWaitedForIsNotSlow) {
  constexpr int64_t kAhead = 1250;
  ahead_[1] = kAhead;
  for (ProcessFacts& process : processes_) process.end.clock_error_ns = kAhead;
  run_exchange(3);
  measure_transits(processes_, operation_);
  for (uint32_t from = 0; from < 3; ++from) {
    for (uint32_t to = 0; to < kRanks; ++to) {
      if (to == from) continue;
      EXPECT_LE(least(from, to), kUsual) << from << " to " << to;
    }
  }
}

TEST_F(TransitsTest, MessagesOfAnExchangeAtTheSameTimeShareTheirNics) {
  operation_.what = events::Operation::kAlltoall;
  operation_.algorithm = events::Algorithm::kPairwise;
  constexpr int64_t kTogether = (kRanks - 1) * kUsual;
  for (uint32_t to = 0; to < kRanks; ++to) {
    for (uint32_t from = 0; from < kRanks; ++from) {
      if (from != to) arrive(from, to, kTogether);
    }
  }
  measure_transits(processes_, operation_);
  for (uint32_t to = 0; to < kRanks; ++to) {
    for (const Inflow& inflow : operation_.parts[to].inflows) {
      EXPECT_EQ(inflow.transit.most_ns, kTogether);
      EXPECT_NEAR(inflow.alone.most_ns, kUsual, 1) << inflow.from << " to " << to;
    }
  }
}

// Their messages come from memory, and when they were posted is not recorded.
TEST_F(TransitsTest, RanksOfOneHostLeaveTheOthersMessagesOfAnExchangeMeasured) {
  operation_.what = events::Operation::kAlltoall;
  operation_.algorithm = events::Algorithm::kPairwise;
  processes_[1].party.host = processes_[0].party.host;
  for (uint32_t to = 0; to < kRanks; ++to) {
    for (uint32_t from = 0; from < kRanks; ++from) {
      if (from == to) continue;
      arrive(from, to, 2 * kUsual);
      Arrival& arrival = operation_.parts[to].from(from).arrivals.back();
      if (from + to == 1) arrival.posted = arrival.at;
    }
  }
  measure_transits(processes_, operation_);
  EXPECT_EQ(operation_.parts[2].from(3).transit.most_ns, 2 * kUsual);
  EXPECT_LT(operation_.parts[0].from(1).transit.most_ns, 0) << "memory is not measured";
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

// Ranks 0 and 1 exchange with 2 and 3, then 0 with 1 and 2 with 3; what rank 3 sends is slow.
TEST_F(TransitsTest, OfOtherAlgorithmsTransitsBeginWhenBothSidesHavePosted) {
  for (uint32_t rank = 0; rank < kRanks; ++rank) exchange(rank, rank ^ 2, 0);
  exchange(0, 1, kSlow);
  exchange(1, 0, kUsual);
  exchange(2, 3, kUsual);
  exchange(3, 2, kSlow);
  measure_transits(processes_, operation_);
  for (uint32_t to = 0; to < kRanks; ++to) {
    for (const uint32_t from : {to ^ 2, to ^ 1}) {
      EXPECT_EQ(most(from, to), from == 3 ? kSlow : kUsual) << from << " to " << to;
      EXPECT_EQ(least(from, to), most(from, to));
      EXPECT_EQ(operation_.parts[to].from(from).longest, 1u);
    }
    EXPECT_TRUE(operation_.parts[to].departures.empty());
    EXPECT_TRUE(operation_.parts[to].inflows[0].arrivals.empty());
  }
}

TEST_F(TransitsTest, MessagesThatARankSendsAtATimeShareItsNic) {
  for (const uint32_t to : {1u, 2u}) send(0, to, {.posted = 0, .at = 2 * kUsual});
  send(3, 1, {.posted = 3 * kUsual, .at = 4 * kUsual});
  measure_transits(processes_, operation_);
  EXPECT_EQ(most(0, 1), kUsual);
  EXPECT_EQ(most(0, 2), kUsual);
  EXPECT_EQ(most(3, 1), kUsual);
  EXPECT_EQ(operation_.parts[1].from(0).transit.most_ns, 2 * kUsual);
  EXPECT_EQ(operation_.parts[1].from(3).transit.most_ns, kUsual);
}

// A rank sends to one child after the other, and the last looked late.
TEST_F(TransitsTest, AMessageSentInTurnWaitsForTheOneBefore) {
  for (const uint32_t to : {1u, 2u, 3u}) send(0, to, {.posted = 0, .at = to * kUsual});
  measure_transits(processes_, operation_);
  for (const uint32_t to : {1u, 2u, 3u}) {
    EXPECT_EQ(operation_.parts[to].from(0).transit.most_ns, to * kUsual);
    EXPECT_EQ(operation_.parts[to].from(0).in_turn.most_ns, kUsual);
  }
}

TEST_F(TransitsTest, AMessageWhoseSendersTimeIsUnknownIsNotMeasured) {
  arrive(0, 1, 100);
  send(1, 2, {.posted = 0, .at = 200});
  measure_transits(processes_, operation_);
  EXPECT_EQ(most(0, 1), -1);
  EXPECT_EQ(operation_.parts[1].from(0).measured_bytes, 0u);
  EXPECT_EQ(most(1, 2), 200);
}

TEST_F(TransitsTest, WhereClocksAreNotKnownOtherAlgorithmsAreNotMeasured) {
  for (ProcessFacts& process : processes_) process.end.clock_error_ns = -1;
  send(1, 2, {.posted = 0, .at = 200});
  measure_transits(processes_, operation_);
  EXPECT_EQ(most(1, 2), -1);
}

TEST_F(TransitsTest, MessagesWithinAHostAreNotMeasured) {
  processes_[2].party.host = processes_[1].party.host;
  send(1, 2, {.posted = 0, .at = 200});
  measure_transits(processes_, operation_);
  EXPECT_EQ(most(1, 2), -1);
}

TEST(NicShares, AMessageThatIsAloneHasAllOfItsTime) {
  EXPECT_EQ(nic_shares({{0, 1, 0, 10}, {0, 1, 10, 20}, {1, 0, 0, 20}}, 2),
            (std::vector<double>{1, 1, 1}));
}

TEST(NicShares, SendersAndReceiversAreSharedForAsLongAsOthersUseThem) {
  // From rank 0 to two others, of which one gets another message from rank 3.
  const std::vector<double> shares = nic_shares({{0, 1, 0, 10}, {0, 2, 5, 15}, {3, 2, 10, 20}}, 4);
  EXPECT_DOUBLE_EQ(shares[0], 0.75);
  EXPECT_DOUBLE_EQ(shares[1], 0.5);
  EXPECT_DOUBLE_EQ(shares[2], 0.75);
}

// A recording with messages of any times took minutes.
TEST(NicShares, TooMuchAtTheSameTimeIsNotShared) {
  std::vector<Passage> passages;
  for (int i = 0; i < 20'000; ++i) passages.push_back({0, 1, 1.0 * i, 1.0 * (i + 20'000)});
  EXPECT_TRUE(nic_shares(passages, 2).empty());
}

TEST(NicShares, AMessageWithoutLengthDisturbsNone) {
  EXPECT_EQ(nic_shares({{0, 1, 5, 5}, {0, 1, 0, 10}}, 2), (std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace heddle::insight
