// Verdicts on synthetic jobs: a ring of ranks that compute and reduce, with one fault or none.
#include "insight/diagnosis.h"

#include <gtest/gtest.h>

#include <functional>

#include "insight/confidence.h"

namespace heddle::insight {
namespace {

using events::ElementType;
using events::Operation;

constexpr uint64_t kWorld = 9;
constexpr uint32_t kRanks = 4;
constexpr int64_t kMs = 1'000'000;

// Each rank computes, calls, waits until the last has called, and 2 ms for the transfer.
class DiagnosisTest : public ::testing::Test {
 protected:
  DiagnosisTest() {
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      builder_.add_process({{"host", "h" + std::to_string(rank)}, {"rank", std::to_string(rank)}},
                           {.closed = rank != killed_, .complete = true});
      builder_.add(rank, events::CommunicatorMade{{}, kWorld, rank, kRanks}, 0);
    }
  }

  // Policies rely on the ranges that are stated.
  void TearDown() override {
    for (const Verdict& each : builder_.finish().verdicts) {
      const auto range = confidence_range(each.what, each.place.kind);
      ASSERT_TRUE(range) << name_of(each.what) << " at " << name_of(each.place.kind);
      EXPECT_GE(each.confidence, range->least) << name_of(each.what);
      EXPECT_LE(each.confidence, range->most) << name_of(each.what);
    }
  }

  void make(uint32_t rank, uint32_t call, int64_t at, uint64_t count = 100) {
    builder_.add(
        rank,
        events::CallMade{
            {}, kWorld, call, call, Operation::kAllreduce, ElementType::kFloat, count, 0, 0},
        at);
    builder_.add(rank, events::WaitBegun{{}, kWorld, call}, at);
  }
  void end(uint32_t rank, uint32_t call, int64_t at, bool ok = true) {
    builder_.add(rank, events::WaitEnded{{}, kWorld, call}, at);
    builder_.add(rank, events::CallEnded{{}, kWorld, call, ok}, at);
  }
  // `computes(rank, call)` in ns.
  void run(uint32_t calls, const std::function<int64_t(uint32_t, uint32_t)>& computes) {
    for (uint32_t call = 1; call <= calls; ++call) {
      int64_t due = 0;
      for (uint32_t rank = 0; rank < kRanks; ++rank) {
        const int64_t at = now_ + computes(rank, call);
        make(rank, call, at);
        due = std::max(due, at);
      }
      now_ = due + 2 * kMs;
      for (uint32_t rank = 0; rank < kRanks; ++rank) end(rank, call, now_);
    }
  }
  static int64_t steady(uint32_t rank, uint32_t call) {
    return 10 * kMs + static_cast<int64_t>((rank * 7 + call * 13) % 11) * 20'000;
  }

  static constexpr uint32_t killed_ = 3;
  DiagnosisBuilder builder_;
  int64_t now_ = 0;
};

TEST_F(DiagnosisTest, AHealthyJobHasNoVerdictThoughOneRankWritesCheckpoints) {
  run(60, [](uint32_t rank, uint32_t call) {
    return steady(rank, call) + (rank == 0 && call % 20 == 0 ? 500 * kMs : 0);
  });
  const Diagnosis diagnosis = builder_.finish();
  EXPECT_TRUE(diagnosis.verdicts.empty());
  EXPECT_EQ(diagnosis.operations, 60u);
}

TEST_F(DiagnosisTest, NamesTheSlowRankAndSinceWhen) {
  run(600, [](uint32_t rank, uint32_t call) {
    return steady(rank, call) * (rank == 2 && call > 120 ? 3 : 2) / 2;
  });
  const Diagnosis diagnosis = builder_.finish();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  const Verdict& verdict = diagnosis.verdicts[0];
  EXPECT_EQ(verdict.what, VerdictClass::kNonCommunicationSlow);
  EXPECT_EQ(place_text(diagnosis, verdict.place), "rank 2 on h2");
  EXPECT_NEAR(static_cast<double>(verdict.since_ns), 120 * 12.2e6, 120e6);
  EXPECT_EQ(verdict.until_ns, -1);
}

// For half a second: a crowd on its host's cores, a garbage collection, a neighbor's burst.
TEST_F(DiagnosisTest, AShortEpisodeIsNoVerdict) {
  run(240, [](uint32_t rank, uint32_t call) {
    return steady(rank, call) * (rank == 2 && call > 120 && call <= 150 ? 3 : 2) / 2;
  });
  EXPECT_TRUE(builder_.finish().verdicts.empty());
}

// Ranks start up at different speeds.
TEST_F(DiagnosisTest, ASlowStartIsNoVerdict) {
  run(240, [](uint32_t rank, uint32_t call) {
    return steady(rank, call) * (rank == 2 && call <= 100 ? 2 : 1);
  });
  EXPECT_TRUE(builder_.finish().verdicts.empty());
}

TEST_F(DiagnosisTest, TwoCallsAreTooLittleToJudgeSlowness) {
  run(2, [](uint32_t rank, uint32_t call) { return steady(rank, call) * (rank == 2 ? 2 : 1); });
  const Diagnosis diagnosis = builder_.finish();
  EXPECT_TRUE(diagnosis.verdicts.empty());
  EXPECT_EQ(diagnosis.not_judged.size(), 1u);
}

// 110 operations of 1.4 ms each on a host with fewer cores than ranks once made rank 0 "slow".
TEST_F(DiagnosisTest, AFewTurnsOfTheSchedulerAreTooLittleToJudgeSlowness) {
  run(60, [](uint32_t rank, uint32_t) { return kMs * (rank == 2 ? 2 : 1); });
  const Diagnosis diagnosis = builder_.finish();
  EXPECT_TRUE(diagnosis.verdicts.empty());
  EXPECT_EQ(diagnosis.not_judged.size(), 1u);
  EXPECT_TRUE(diagnosis.too_little());
}

// A live job is looked at again and again.
TEST_F(DiagnosisTest, AJobThatRunsIsDiagnosedWhileEventsAreAdded) {
  run(240, steady);
  EXPECT_TRUE(builder_.diagnose(INT64_MIN, now_).verdicts.empty());
  make(0, 241, now_ + 10 * kMs);
  const int64_t alive = now_ + 15'000 * kMs;
  ASSERT_EQ(builder_.diagnose(INT64_MIN, alive).verdicts.size(), 3u);  // ranks 1 to 3 do not call
  for (uint32_t rank = 1; rank < kRanks; ++rank) make(rank, 241, alive);
  for (uint32_t rank = 0; rank < kRanks; ++rank) end(rank, 241, alive + kMs);
  EXPECT_TRUE(builder_.diagnose(INT64_MIN, alive + 2 * kMs).verdicts.empty());
}

// Of ranks' rings one reaches further back than another.
TEST_F(DiagnosisTest, OperationsThatBeganBeforeEventsAreCompleteAreNotJudged) {
  for (const uint32_t rank : {0u, 2u, 3u}) make(rank, 1, kMs);
  builder_.set_whole_from(5 * kMs);
  for (const uint32_t rank : {0u, 3u}) make(rank, 2, 4 * kMs);
  for (const uint32_t rank : {1u, 2u}) make(rank, 2, 6 * kMs);
  for (uint32_t rank = 0; rank < kRanks; ++rank) make(rank, 3, 7 * kMs);
  for (uint32_t rank = 0; rank < kRanks; ++rank) end(rank, 3, 8 * kMs);
  const Diagnosis diagnosis = builder_.diagnose(INT64_MIN, 200'000 * kMs);
  EXPECT_TRUE(diagnosis.verdicts.empty());
  for (const uint32_t rank : {0u, 2u, 3u}) make(rank, 4, 10 * kMs);
  ASSERT_EQ(builder_.diagnose(INT64_MIN, 200'000 * kMs).verdicts.size(), 1u);
}

// A rank was stopped; another one declared it dead and left without the call that others wait in.
TEST_F(DiagnosisTest, ARankThatLeftSinceAnotherWasDeadIsNotTheCause) {
  run(30, steady);
  for (const uint32_t rank : {0u, 2u}) make(rank, 31, now_ + 10 * kMs);
  builder_.add(1, events::CommunicatorLinked{{}, kWorld, killed_, 7}, now_ + 10 * kMs);
  builder_.add(1, events::ConnectionClosed{{}, 7, events::CloseCause::kPeerDead},
               now_ + 3'000 * kMs);
  builder_.add(1, events::CommunicatorEnded{{}, kWorld}, now_ + 3'001 * kMs);
  builder_.set_end(1, {.closed = true});
  const Diagnosis diagnosis = builder_.diagnose(INT64_MIN, now_ + 3'500 * kMs);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 3 on h3");
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kNonCommunicationHang);
}

TEST_F(DiagnosisTest, ARankThatNeverCallsHangsTheOthers) {
  run(20, steady);
  for (const uint32_t rank : {0u, 2u, 3u}) make(rank, 21, now_ + 10 * kMs);
  builder_.add(1, events::Mark{}, now_ + 12'000 * kMs);  // it lives
  const Diagnosis diagnosis = builder_.finish();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kNonCommunicationHang);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 1 on h1");
}

TEST_F(DiagnosisTest, AnOperationJustBegunIsNoHang) {
  builder_.set_end(killed_, {.closed = true});
  run(60, steady);
  for (const uint32_t rank : {0u, 2u, 3u}) make(rank, 61, now_ + 10 * kMs);
  builder_.add(1, events::Mark{}, now_ + 2000 * kMs);
  const Diagnosis diagnosis = builder_.finish();
  EXPECT_TRUE(diagnosis.verdicts.empty());
  EXPECT_EQ(diagnosis.not_judged.size(), 1u);
}

// A stopped process's peers declare it dead within seconds, and their calls fail.
TEST_F(DiagnosisTest, ASilentRankIsNamedAsSoonAsTheOthersCallsFail) {
  run(20, steady);
  for (const uint32_t rank : {0u, 1u, 2u}) make(rank, 21, now_ + 10 * kMs);
  for (const uint32_t rank : {0u, 1u, 2u}) end(rank, 21, now_ + 5000 * kMs, false);
  const Diagnosis diagnosis = builder_.finish();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kNonCommunicationHang);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 3 on h3");
}

// A launcher ends the other ranks at once. A link was blamed, on a host of its own.
TEST_F(DiagnosisTest, AKilledRankIsNamedThoughTheRecordingEndsAtOnce) {
  run(60, steady);
  for (uint32_t rank = 0; rank < kRanks; ++rank) make(rank, 61, now_ + 10 * kMs);
  for (const uint32_t rank : {0u, 1u, 2u}) end(rank, 61, now_ + 300 * kMs, false);
  const Diagnosis diagnosis = builder_.finish();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kCommunicationHang);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 3 on h3");
}

// A launcher ends the other ranks: rank 0 between two calls, the others in the one that rank 3 died
// in.
TEST_F(DiagnosisTest, ARankThatWasKilledInACallIsNamedThoughAnotherWasEndedBeforeThatCall) {
  run(60, steady);
  for (const uint32_t rank : {1u, 2u, 3u}) make(rank, 61, now_ + 10 * kMs);
  builder_.add(0, events::CommunicatorEnded{{}, kWorld}, now_ + 20 * kMs);
  for (const uint32_t rank : {1u, 2u}) end(rank, 61, now_ + 300 * kMs, false);
  const Diagnosis diagnosis = builder_.finish();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kCommunicationHang);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 3 on h3");
  EXPECT_EQ(diagnosis.verdicts[0].summary,
            "3 of 4 ranks started allreduce 61 and did not finish it, and the job was ended");
}

// The others made fewer calls and failed, and the launcher ended rank 3, which does not close then.
TEST_F(DiagnosisTest, ARankThatAloneWaitedForThoseThatLeftIsNotNamed) {
  run(60, steady);
  make(3, 61, now_ + 10 * kMs);
  for (const uint32_t rank : {0u, 1u, 2u}) {
    builder_.add(rank, events::CommunicatorEnded{{}, kWorld}, now_ + 20 * kMs);
  }
  EXPECT_TRUE(builder_.finish().verdicts.empty());
}

// Rank 0 makes fewer calls than the others, which is no fault of rank 3, killed seconds later.
TEST_F(DiagnosisTest, ARankThatLeftBeforeAnotherDiedIsNoReasonToNameThatOne) {
  run(60, steady);
  builder_.add(0, events::CommunicatorEnded{{}, kWorld}, now_ + 5 * kMs);
  for (const uint32_t rank : {1u, 2u, 3u}) make(rank, 61, now_ + 10 * kMs);
  for (const uint32_t rank : {1u, 2u}) end(rank, 61, now_ + 300 * kMs, false);
  builder_.add(3, events::Mark{}, now_ + 5'000 * kMs);
  EXPECT_TRUE(builder_.finish().verdicts.empty());
}

// Rank 0 failed between two calls. The launcher ended the others, rank 3 without its close, which
// had recorded that its call failed.
TEST_F(DiagnosisTest, ARankThatSawItsCallFailDidNotDieInIt) {
  run(60, steady);
  for (const uint32_t rank : {1u, 2u, 3u}) make(rank, 61, now_ + 10 * kMs);
  for (const uint32_t rank : {1u, 2u, 3u}) end(rank, 61, now_ + 300 * kMs, false);
  builder_.add(0, events::CommunicatorEnded{{}, kWorld}, now_ + 400 * kMs);  // by a clock ahead
  EXPECT_TRUE(builder_.finish().verdicts.empty());
}

// Rank 3 lived when rank 0 left, whose close took longer.
TEST_F(DiagnosisTest, ARankThatDiedAfterAnotherHadLeftIsNotNamedThoughThatOneClosedLater) {
  run(60, steady);
  for (const uint32_t rank : {1u, 2u, 3u}) make(rank, 61, now_ + 10 * kMs);
  builder_.add(0, events::CommunicatorEnded{{}, kWorld}, now_ + 20 * kMs);
  builder_.add(3, events::Mark{}, now_ + 21 * kMs);
  builder_.add(0, events::Mark{}, now_ + 22 * kMs);
  for (const uint32_t rank : {1u, 2u}) end(rank, 61, now_ + 300 * kMs, false);
  EXPECT_TRUE(builder_.finish().verdicts.empty());
}

// Rank 0 left 10 ms after rank 3's newest event.
TEST_F(DiagnosisTest, ByClocksThatMayDifferByMoreNoRankIsNamedAsTheFirstToDie) {
  run(60, steady);
  for (const uint32_t rank : {1u, 2u, 3u}) make(rank, 61, now_ + 10 * kMs);
  builder_.add(0, events::CommunicatorEnded{{}, kWorld}, now_ + 20 * kMs);
  for (const uint32_t rank : {1u, 2u}) end(rank, 61, now_ + 300 * kMs, false);
  builder_.set_end(0, {.clock_error_ns = 4 * kMs});
  for (const int64_t error_ns : {7 * kMs, int64_t{-1}, INT64_MAX}) {
    builder_.set_end(3, {.closed = false, .clock_error_ns = error_ns});
    EXPECT_TRUE(builder_.finish().verdicts.empty()) << error_ns;
  }
  builder_.set_end(3, {.closed = false, .clock_error_ns = 5 * kMs});
  EXPECT_EQ(builder_.finish().verdicts.size(), 1u);
}

// Rank 1 stopped in a call. Rank 3 was ended later, without its close either.
TEST_F(DiagnosisTest, OfSilentRanksTheFirstIsNamed) {
  run(60, steady);
  for (uint32_t rank = 0; rank < kRanks; ++rank) make(rank, 61, now_ + 10 * kMs);
  builder_.set_end(1, {.closed = false});
  builder_.add(3, events::Mark{}, now_ + 8'000 * kMs);
  const Diagnosis diagnosis = builder_.diagnose(INT64_MIN, now_ + 15'000 * kMs);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kCommunicationHang);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 1 on h1");
}

TEST_F(DiagnosisTest, ACallWithAnotherCountIsAMismatch) {
  run(20, steady);
  for (uint32_t rank = 0; rank < kRanks; ++rank) make(rank, 21, now_, rank == 1 ? 99 : 100);
  const Diagnosis diagnosis = builder_.finish();
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kMismatch);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 1 on h1");
}

// Each call of a communicator that claims 65,536 ranks once took a millisecond and 9 MB.
TEST_F(DiagnosisTest, AnUnrecordedMajorityCostsNothing) {
  constexpr uint64_t kHuge = 99;
  builder_.add(0, events::CommunicatorMade{{}, kHuge, 0, 65'536}, 0);
  for (uint32_t call = 1; call <= 20'000; ++call) {
    builder_.add(0,
                 events::CallMade{
                     {}, kHuge, call, call, Operation::kAllreduce, ElementType::kFloat, 1, 0, 0},
                 call);
  }
  const Diagnosis diagnosis = builder_.finish();
  EXPECT_TRUE(diagnosis.verdicts.empty());
  ASSERT_FALSE(diagnosis.not_judged.empty());
  EXPECT_NE(diagnosis.not_judged[0].find("65536 ranks"), std::string::npos);
}

TEST_F(DiagnosisTest, ArbitraryTimesAreAccepted) {
  for (const int64_t at : {INT64_MIN, INT64_MAX, int64_t{-1}}) {
    make(0, 1, at);
    end(0, 1, at);
  }
  EXPECT_GE(builder_.finish().until_ns, 0);
}

}  // namespace
}  // namespace heddle::insight
