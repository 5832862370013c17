// Work that differs from step to step, as by the lengths of sequences: a note with the share of the
// time that it costs, and none where a rank is slow or turns of cores explain who is last.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "insight/diagnosis.h"
#include "insight/diagnosis/robust.h"
#include "insight/testing/ring_jobs.h"

namespace heddle::insight {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint32_t kRanks = 4;
constexpr uint32_t kStepCalls = 4;
constexpr double kUsualNs = 20e6;    // computation before a call
constexpr double kTransferNs = 6e6;  // of a call: six rounds of 1 ms
constexpr uint32_t kCalls = 500;     // 125 steps, of which the first five are not judged

using Factor = std::function<double(uint32_t rank, uint32_t call)>;  // times the usual

// 0 to 1, of a rank at a time.
double draw(uint32_t rank, uint32_t at) {
  return static_cast<double>(mix_bits(at * uint64_t{64} + rank + 1) >> 11) * 0x1p-53;
}

uint32_t step_of(uint32_t call) { return (call - 1) / kStepCalls; }

// Of a rank's step: 0.5 to 1.5.
double by_length(uint32_t rank, uint32_t call) { return 0.5 + draw(rank, step_of(call)); }

Diagnosis run(const Factor& factor, uint32_t calls = kCalls) {
  Ring ring;
  ring.ranks = kRanks;
  ring.calls = calls;
  ring.computes = [&factor](uint32_t rank, uint32_t call) {
    return static_cast<int64_t>(kUsualNs * factor(rank, call));
  };
  RingJobs job(kRanks);
  job.run(ring);
  return job.diagnose();
}

// A core that ranks share: for this number of calls a rank has it alone or not, each rank in turns
// of its own.
Factor turns_of(uint32_t calls) {
  return [calls](uint32_t rank, uint32_t call) {
    return draw(rank, (2 * call + 3 * rank) / (2 * calls)) < 0.5 ? 2.5 : 1.0;
  };
}

// Of a step with these lengths in which all wait for the longest one: what the mean rank waits.
double lost_in(uint32_t step) {
  double sum = 0;
  double longest = 0;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const double factor = by_length(rank, step * kStepCalls + 1);
    sum += factor;
    longest = std::max(longest, factor);
  }
  return kUsualNs * (longest - sum / kRanks) / (kUsualNs * longest + kTransferNs);
}

TEST(LengthImbalance, WorkThatIsNewWithEachStepIsANoteWithTheShareOfTimeThatItCosts) {
  const Diagnosis diagnosis = run(by_length);
  EXPECT_THAT(diagnosis.verdicts, IsEmpty());
  ASSERT_EQ(diagnosis.notes.size(), 1u);
  const Verdict& note = diagnosis.notes[0];
  EXPECT_EQ(note.what, VerdictClass::kLoadImbalance);
  EXPECT_EQ(note.place.kind, PlaceKind::kJob);
  std::vector<double> lost;
  for (uint32_t step = 6; step < kCalls / kStepCalls; ++step) lost.push_back(lost_in(step));
  EXPECT_NEAR(note.cost, median(std::move(lost)), 0.001);
  EXPECT_GT(note.cost, 0.15);
  EXPECT_GT(note.confidence, 0.9);
  ASSERT_EQ(note.evidence.size(), 3u);
  EXPECT_THAT(note.evidence[0], HasSubstr("in 120 steps of 4 collectives the last rank changes"));
  EXPECT_THAT(note.evidence[0], HasSubstr("rank 2 on h2 is it most often"));
  EXPECT_THAT(note.evidence[0], HasSubstr("in 34 of them, and a rank's equal share is 30"));
  EXPECT_THAT(note.evidence[2], HasSubstr("the halves of a step correlate by 1.00"));
  EXPECT_THAT(note.action, HasSubstr("bucket or pack sequences by length"));
}

// Jitter: a mean rank waits as long, and the calls of a step have nothing in common.
TEST(LengthImbalance, WorkThatIsNewWithEachCallIsNoNote) {
  const auto by_call = [](uint32_t rank, uint32_t call) { return 0.5 + draw(rank, call); };
  EXPECT_THAT(run(by_call).notes, IsEmpty());
}

TEST(LengthImbalance, TurnsOfCoresThatAreShorterOrLongerThanStepsAreNoNote) {
  for (const uint32_t calls : {3u, 5u, 7u, 10u}) {
    const Diagnosis diagnosis = run(turns_of(calls));
    EXPECT_THAT(diagnosis.verdicts, IsEmpty()) << calls;
    EXPECT_THAT(diagnosis.notes, IsEmpty()) << calls;
  }
}

// It is last in more steps than its share.
TEST(LengthImbalance, ARankThatIsSlowerBesideItsLengthsIsNoNote) {
  const auto slower = [](uint32_t rank, uint32_t call) {
    return by_length(rank, call) * (rank == 2 ? 1.2 : 1);
  };
  EXPECT_THAT(run(slower).notes, IsEmpty());
}

TEST(LengthImbalance, ARankThatBecomesSlowBesideItsLengthsIsNoNote) {
  const auto slower = [](uint32_t rank, uint32_t call) {
    return by_length(rank, call) * (rank == 2 && call > kCalls / 2 ? 1.3 : 1);
  };
  EXPECT_THAT(run(slower).notes, IsEmpty());
}

TEST(LengthImbalance, ARankWithAVerdictExplainsTheWaiting) {
  const auto slow = [](uint32_t rank, uint32_t call) {
    return by_length(rank, call) * (rank == 2 ? 2.5 : 1);
  };
  const Diagnosis diagnosis = run(slow);
  ASSERT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_EQ(place_text(diagnosis, diagnosis.verdicts[0].place), "rank 2 on h2");
  EXPECT_THAT(diagnosis.notes, IsEmpty());
}

TEST(LengthImbalance, LengthsThatCostLittleAreNoNote) {
  const auto little = [](uint32_t rank, uint32_t call) {
    return 1 + 0.1 * (by_length(rank, call) - 1);
  };
  EXPECT_THAT(run(little).notes, IsEmpty());
}

// 28 steps after the first calls, and 60.
TEST(LengthImbalance, FewStepsAreNoNote) {
  EXPECT_THAT(run(by_length, 132).notes, IsEmpty());
  EXPECT_EQ(run(by_length, 260).notes.size(), 1u);
}

}  // namespace
}  // namespace heddle::insight
