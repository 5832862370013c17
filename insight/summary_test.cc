// The summary of a job's communication, from synthetic events.
#include "insight/summary.h"

#include <gtest/gtest.h>

namespace heddle::insight {
namespace {

using events::CallEnded;
using events::CallMade;
using events::CallStarted;
using events::ElementType;
using events::Operation;
using events::WaitBegun;
using events::WaitEnded;

constexpr uint64_t kWorld = 9;

class SummaryTest : public ::testing::Test {
 protected:
  void make(Nanos at, uint32_t call, Operation operation = Operation::kAllreduce) {
    builder_.add(0, CallMade{at, kWorld, call, call, operation, ElementType::kFloat, 100, 0, 0});
  }
  void end(Nanos at, uint32_t call, bool ok = true) {
    builder_.add(0, CallEnded{at, kWorld, call, ok});
  }
  ProcessSummary first() const { return builder_.finish().processes.at(0); }

  SummaryBuilder builder_;
  uint32_t process_ = builder_.add_process({{"host", "h"}, {"rank", "0"}});
};

TEST_F(SummaryTest, ConcurrentCallsCountOnceAndWaitsAreExposed) {
  make(micros(10), 1);
  make(micros(20), 2);
  end(micros(50), 1);
  builder_.add(0, WaitBegun{micros(60), kWorld, 2});
  builder_.add(0, WaitEnded{micros(80), kWorld, 2});
  end(micros(80), 2);
  make(micros(200), 3);
  end(micros(230), 3);
  EXPECT_EQ(first().communicating, micros(70 + 30));
  EXPECT_EQ(first().exposed, micros(20));
  EXPECT_EQ(first().hidden(), micros(80));
  EXPECT_EQ(first().calls, 3u);
}

TEST_F(SummaryTest, UnfinishedCallsCountUpToTheLastEvent) {
  make(micros(10), 1);
  builder_.add(0, WaitBegun{micros(30), kWorld, 1});
  builder_.add(0, events::Recovery{micros(90), 1, 0, events::RecoveryStep::kPeerProbe});
  EXPECT_EQ(first().communicating, micros(80));
  EXPECT_EQ(first().exposed, micros(60));
}

TEST_F(SummaryTest, TheSlowestCallsAreListedOnceForTheRankWhereTheyTookLongest) {
  builder_.add_process({{"host", "h"}, {"rank", "1"}});
  for (uint32_t call = 1; call <= 20; ++call) {
    make(micros(1000 * call), call);
    end(micros(1000 * call + 10 * call), call);
    const CallMade same{micros(1000 * call), kWorld, call + 100, call, Operation::kAllreduce,
                        ElementType::kFloat, 100,    0,          0};
    builder_.add(1, same);
    builder_.add(1, CallEnded{micros(1000 * call + 11 * call), kWorld, call + 100, true});
  }
  const Summary summary = builder_.finish();
  ASSERT_EQ(summary.slowest.size(), SummaryBuilder::kSlowest);
  for (uint32_t i = 0; i < summary.slowest.size(); ++i) {
    EXPECT_EQ(summary.slowest[i].number, 20 - i);
    EXPECT_EQ(summary.slowest[i].process, 1u);
    EXPECT_EQ(summary.slowest[i].took, micros(11 * (20 - i)));
    EXPECT_EQ(summary.slowest[i].bytes, 400u);
  }
  EXPECT_EQ(summary.operations.at(Operation::kAllreduce).calls, 40u);
}

TEST_F(SummaryTest, FindsTheRankForWhichTheOthersWait) {
  for (uint32_t rank = 0; rank < 4; ++rank) {
    if (rank > 0) builder_.add_process({{"host", "h"}, {"rank", std::to_string(rank)}});
    builder_.add(rank, CallMade{micros(0), kWorld, 1, 1, Operation::kAllreduce, ElementType::kFloat,
                                1, 0, 0});
    builder_.add(rank, WaitBegun{micros(rank == 2 ? 990 : 100), kWorld, 1});
    builder_.add(rank, WaitEnded{micros(1000), kWorld, 1});
    builder_.add(rank, CallEnded{micros(1000), kWorld, 1, true});
  }
  const auto findings = findings_of(builder_.finish(), {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].what.find("the others wait for rank 2 on h"), std::string::npos)
      << findings[0].what;
}

TEST_F(SummaryTest, FindsLossFailuresAndMissingRanks) {
  builder_.add(0, events::CommunicatorMade{micros(1), kWorld, 0, 4});
  builder_.add(0, events::BurstLost{micros(1), 1, 0, 5, 3, events::LossCause::kGap});
  builder_.add(0, events::ConnectionClosed{micros(2), 1, events::CloseCause::kPeerDead});
  builder_.add(0, events::PathSized{micros(3), 1, 0, 1472, 8972});
  make(micros(4), 1);
  end(micros(5), 1, false);
  std::string all;
  for (const Finding& finding : findings_of(builder_.finish(), {})) all += finding.what + "\n";
  for (const char* part :
       {"3 segments were lost", "rank 0 on h lost peers that did not answer any more: 1",
        "8972 bytes do not pass", "of the calls of rank 0 on h 1 failed", "of the 4 ranks"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << "\n" << all;
  }
}

// Two jobs that recorded into one folder were once reported as one job.
TEST_F(SummaryTest, FindsARankThatIsSeveralProcesses) {
  const auto call = [this](uint32_t process) {
    builder_.add(process, CallMade{micros(4), kWorld, 1, 1, Operation::kAllreduce,
                                   ElementType::kFloat, 100, 0, 0});
    builder_.add(process, CallEnded{micros(5), kWorld, 1, true});
  };
  call(0);
  builder_.add_process({{"host", "h"}, {"rank", "0"}});  // made no call, so it is not reported
  builder_.add_process({{"host", "h"}, {"rank", "1"}});
  call(2);
  EXPECT_TRUE(findings_of(builder_.finish(), {}).empty());
  builder_.add_process({{"host", "g"}, {"rank", "1"}});
  call(3);
  const auto findings = findings_of(builder_.finish(), {});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].what.find("rank 1 is 2 processes here"), std::string::npos);
}

TEST_F(SummaryTest, AnOrdinaryJobHasNoFindings) {
  make(micros(4), 1);
  end(micros(5), 1);
  EXPECT_TRUE(findings_of(builder_.finish(), {}).empty());
}

TEST_F(SummaryTest, ArbitraryTimesDoNotOverflow) {
  for (uint32_t i = 0; i < 9; ++i) {
    make(Nanos{INT64_MIN}, 1);
    builder_.add(0, WaitBegun{Nanos{INT64_MIN}, kWorld, 1});
    builder_.add(0, WaitEnded{Nanos{INT64_MAX}, kWorld, 1});
    end(Nanos{INT64_MAX}, 1);
    end(Nanos{INT64_MIN}, 1);
  }
  EXPECT_GE(first().communicating.count, 0);
  EXPECT_GE(first().hidden().count, 0);
}

}  // namespace
}  // namespace heddle::insight
