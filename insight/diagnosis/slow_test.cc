// Slow ranks: unequal work by design is a note, the same delay without more work a verdict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "insight/diagnosis.h"

namespace heddle::insight {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kWorld = 9;
constexpr uint32_t kRanks = 6;
constexpr uint32_t kCalls = 800;  // 14 s and more
constexpr uint32_t kLoaded = 2;
constexpr int64_t kMs = 1'000'000;
constexpr uint64_t kElements = 100'000;

// All-to-alls of as many elements as `elements` says, after as much computation as `computes` does.
class SlowRanksTest : public ::testing::Test {
 protected:
  using Function = std::function<double(uint32_t rank, uint32_t call)>;  // times the usual

  Diagnosis run(const Function& elements, const Function& computes) {
    DiagnosisBuilder builder;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      builder.add_process({{"host", "h" + std::to_string(rank)}, {"rank", std::to_string(rank)}});
      builder.add(rank, events::CommunicatorMade{{}, kWorld, rank, kRanks}, 0);
    }
    int64_t now = 0;
    for (uint32_t call = 1; call <= kCalls; ++call) {
      int64_t due = now;
      for (uint32_t rank = 0; rank < kRanks; ++rank) {
        const double usual = 14e6 + static_cast<double>((rank * 7 + call * 13) % 11) * 20e3;
        const int64_t at = now + static_cast<int64_t>(usual * computes(rank, call));
        const auto count = static_cast<uint64_t>(kElements * elements(rank, call));
        builder.add(rank,
                    events::CallMade{{},
                                     kWorld,
                                     call,
                                     call,
                                     events::Operation::kAlltoallv,
                                     events::ElementType::kFloat,
                                     count,
                                     0,
                                     0},
                    at);
        builder.add(rank, events::WaitBegun{{}, kWorld, call}, at);
        due = std::max(due, at);
      }
      now = due + 2 * kMs;
      for (uint32_t rank = 0; rank < kRanks; ++rank) {
        builder.add(rank, events::WaitEnded{{}, kWorld, call}, now);
        builder.add(rank, events::CallEnded{{}, kWorld, call, true}, now);
      }
    }
    return builder.finish();
  }

  static double even(uint32_t /*rank*/, uint32_t /*call*/) { return 1; }
  static double half_more(uint32_t rank, uint32_t /*call*/) { return rank == kLoaded ? 1.5 : 1; }
  static double tenth_more(uint32_t rank, uint32_t /*call*/) { return rank == kLoaded ? 1.1 : 1; }
};

TEST_F(SlowRanksTest, WorkThatItsAllToAllsExplainIsANote) {
  const Diagnosis diagnosis = run(half_more, half_more);
  EXPECT_THAT(diagnosis.verdicts, IsEmpty());
  ASSERT_EQ(diagnosis.notes.size(), 1u);
  const Verdict& note = diagnosis.notes[0];
  EXPECT_EQ(note.what, VerdictClass::kLoadImbalance);
  EXPECT_EQ(place_text(diagnosis, note.place), "rank 2 on h2");
  EXPECT_THAT(note.evidence, Contains("its all-to-alls move 1.50 times what the median rank's do"));
  EXPECT_THAT(note.action, HasSubstr("divide the work more evenly"));
}

TEST_F(SlowRanksTest, TheSameLatenessWithoutMoreDataIsAVerdict) {
  const Diagnosis diagnosis = run(even, half_more);
  EXPECT_THAT(diagnosis.notes, IsEmpty());
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kNonCommunicationSlow);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 2 on h2");
}

// A tenth more work costs a tenth more computation at most.
TEST_F(SlowRanksTest, LatenessBeyondWhatItsDataExplainsIsAVerdict) {
  const Diagnosis diagnosis = run(tenth_more, half_more);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kNonCommunicationSlow);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 2 on h2");
}

// As stages of a pipeline that are larger than others.
TEST_F(SlowRanksTest, ManyRanksThatAreLateFromTheBeginningAreUnequalByDesign) {
  const auto two = [](uint32_t rank, uint32_t /*call*/) { return rank < 2 ? 1.5 : 1.0; };
  const Diagnosis diagnosis = run(even, two);
  EXPECT_THAT(diagnosis.verdicts, IsEmpty());
  ASSERT_EQ(diagnosis.notes.size(), 2u);
  EXPECT_EQ(diagnosis.notes[0].what, VerdictClass::kLoadImbalance);
  EXPECT_THAT(diagnosis.notes[0].evidence, Contains("2 of 6 ranks are late from the beginning"));
}

TEST_F(SlowRanksTest, ManyRanksThatBecomeLateAreSlow) {
  const auto later = [](uint32_t rank, uint32_t call) {
    return rank < 2 && call > kCalls / 3 ? 1.5 : 1.0;
  };
  const Diagnosis diagnosis = run(even, later);
  EXPECT_THAT(diagnosis.notes, IsEmpty());
  ASSERT_EQ(diagnosis.verdicts.size(), 2u);
  for (const Verdict& each : diagnosis.verdicts) {
    EXPECT_EQ(each.what, VerdictClass::kNonCommunicationSlow);
  }
}

TEST_F(SlowRanksTest, ARankThatBecomesLateBitByBitDegrades) {
  const auto ramp = [](uint32_t rank, uint32_t call) {
    return rank == kLoaded && call > 200 ? 1 + (call - 200) / 600.0 : 1.0;
  };
  const Diagnosis diagnosis = run(even, ramp);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kDegradation);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 2 on h2");
  EXPECT_THAT(diagnosis.verdicts[0].evidence, Contains("it became late bit by bit, not at once"));
}

// It is late by 10% in the end, and by 5% when its episode begins.
TEST_F(SlowRanksTest, ARankThatDegradesByLittleDoes) {
  const auto ramp = [](uint32_t rank, uint32_t call) {
    return rank == kLoaded && call > 200 ? 1 + 0.13 * (call - 200) / 600.0 : 1.0;
  };
  const Diagnosis diagnosis = run(even, ramp);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(diagnosis.verdicts[0].what, VerdictClass::kDegradation);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 2 on h2");
}

}  // namespace
}  // namespace heddle::insight
