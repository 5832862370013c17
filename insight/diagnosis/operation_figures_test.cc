// An operation's figures: what they say, and which events make them be computed again.
#include "insight/diagnosis/operation_figures.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace heddle::insight {
namespace {

constexpr uint64_t kWorld = 9;
constexpr uint32_t kRanks = 3;
constexpr uint32_t kSlow = 2;  // rank
constexpr int64_t kUs = 1'000;

// Three calls of a ring without waits; rank 2 computes for 90 us and the others for 50.
class OperationFiguresTest : public ::testing::Test {
 protected:
  OperationFiguresTest() : facts_(1'000) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      facts_.add_process({{"host", "h" + std::to_string(rank)}}, {});
      facts_.add(rank, events::CommunicatorMade{{}, kWorld, rank, kRanks}, 0);
    }
    for (uint32_t call = 1; call <= 3; ++call) run(call);
  }

  void run(uint32_t call) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      const int64_t at = now_ + (rank == kSlow ? 90 : 50) * kUs;
      facts_.add(rank,
                 events::CallMade{{},
                                  kWorld,
                                  call,
                                  call,
                                  events::Operation::kAllreduce,
                                  events::ElementType::kFloat,
                                  100,
                                  0,
                                  0},
                 at);
      start(rank, call, at);
    }
    now_ += 100 * kUs;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      facts_.add(rank, events::CallEnded{{}, kWorld, call, true}, now_);
    }
  }
  void start(uint32_t rank, uint32_t call, int64_t at) {
    events::CallStarted started{{}, kWorld, call};
    started.algorithm = events::Algorithm::kRing;
    facts_.add(rank, started, at);
  }
  void report(uint32_t rank, uint32_t call, int64_t wait_us) {
    events::ProxyOp proxy{{}, kWorld, call};
    proxy.rank = rank;
    proxy.peer = (rank + 1) % kRanks;
    proxy.direction = events::Direction::kSent;
    proxy.steps = 1;
    proxy.network_wait = micros(wait_us);
    facts_.add(rank, proxy, now_);
  }

  const Operation& operation(uint64_t number) const {
    return facts_.operations().at({kWorld, number});
  }
  const OperationFigures& figures(uint64_t number) const {
    return figures_of(facts_, operation(number));
  }
  // Whether the figures of call 2, which are kept now, still are when they are asked for again.
  bool are_kept(const std::shared_ptr<const OperationFigures>& before) const {
    figures(2);
    return operation(2).figures == before;
  }

  JobFacts facts_;
  int64_t now_ = 0;
};

TEST_F(OperationFiguresTest, ComputationIsComparedWithTheMedianOfTheOthers) {
  ASSERT_EQ(figures(2).ranks.size(), kRanks);
  EXPECT_EQ(figures(2).ranks[0].ns, 50e3);
  EXPECT_EQ(figures(2).ranks[0].late_ns, -20e3);
  EXPECT_EQ(figures(2).ranks[kSlow].ns, 90e3);
  EXPECT_EQ(figures(2).ranks[kSlow].late_ns, 40e3);
  EXPECT_EQ(figures(2).asked, kRanks);
}

TEST_F(OperationFiguresTest, BeforeItsFirstCallNoRanksComputationIsKnown) {
  EXPECT_TRUE(figures(1).ranks.empty());
  EXPECT_EQ(figures(1).asked, 1u);
}

TEST_F(OperationFiguresTest, FiguresAreKeptWhileOtherOperationsRun) {
  figures(2);
  const auto before = operation(2).figures;
  run(4);
  report(0, 3, 10);
  EXPECT_TRUE(are_kept(before));
}

TEST_F(OperationFiguresTest, AProxysEventAfterTheEndIsInTheDelays) {
  EXPECT_TRUE(figures(2).delays_ns.empty());
  const auto before = operation(2).figures;
  for (uint32_t rank = 0; rank < kRanks; ++rank) report(rank, 2, rank == 1 ? 8 : 2);
  EXPECT_FALSE(are_kept(before));
  ASSERT_EQ(figures(2).delays_ns.size(), kRanks);
  EXPECT_EQ(figures(2).delay_ns({1, 2}), 0.375 * 10e3);  // of a transfer of 10 us
  EXPECT_EQ(figures(2).delay_ns({2, 0}), 0.0);
  EXPECT_EQ(figures(2).delay_ns({2, 1}), std::nullopt) << "the ring goes the other way";
}

TEST_F(OperationFiguresTest, ACallThatADamagedRecordingStartsAgainIsComputedAnew) {
  figures(2);
  const auto before = operation(2).figures;
  start(0, 2, now_ + 7 * kUs);
  EXPECT_FALSE(are_kept(before));
  EXPECT_EQ(figures(2).ranks[0].ns, 7e3) << "since the end of call 3";
}

TEST_F(OperationFiguresTest, ARanksFirstWaitChangesHowItsComputationIsCounted) {
  figures(2);
  const auto before = operation(2).figures;
  facts_.add(kSlow, events::WaitBegun{{}, kWorld, 3}, now_);
  EXPECT_FALSE(are_kept(before));
  EXPECT_EQ(figures(2).ranks[kSlow].ns, 100e3) << "from call to call";
  const auto waiting = operation(2).figures;
  facts_.add(kSlow, events::WaitEnded{{}, kWorld, 3}, ++now_);
  facts_.add(kSlow, events::WaitBegun{{}, kWorld, 3}, ++now_);
  EXPECT_TRUE(are_kept(waiting));
}

}  // namespace
}  // namespace heddle::insight
