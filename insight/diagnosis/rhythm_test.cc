// A job's rhythm: the period of its calls, the time of a step, and when all ranks became slower.
#include "insight/diagnosis/rhythm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "insight/testing/ring_jobs.h"

namespace heddle::insight {
namespace {

using testing::HasSubstr;

// Steps of five calls of unequal counts, 20 ms of computation each.
Ring steps_of_five(uint32_t calls) {
  Ring ring;
  ring.calls = calls;
  ring.count = [](uint32_t call) { return 100 + call % 5; };
  return ring;
}

Diagnosis diagnosis_of(const Ring& ring) {
  RingJobs job(ring.ranks);
  job.run(ring);
  return job.diagnose();
}

TEST(Rhythm, CallsThatRepeatHaveTheirPeriodAndTheTimeOfAStep) {
  const Diagnosis diagnosis = diagnosis_of(steps_of_five(200));
  ASSERT_EQ(diagnosis.rhythms.size(), 1u);
  const Rhythm& rhythm = diagnosis.rhythms[0];
  EXPECT_EQ(rhythm.operations_a_step, 5u);
  EXPECT_EQ(rhythm.agreement, 1);
  EXPECT_NEAR(static_cast<double>(rhythm.step_ns), 5 * 26e6, 1e6);  // 6 rounds of 1 ms each
  EXPECT_TRUE(rhythm.regular());
  EXPECT_EQ(rhythm.change.since_ns, -1);
  EXPECT_TRUE(diagnosis.notes.empty());
}

TEST(Rhythm, AnEvaluationNowAndThenDoesNotHideIt) {
  Ring ring = steps_of_five(1'000);
  ring.count = [](uint32_t call) { return call % 100 == 0 ? 7u : 100u + call % 5; };
  const Diagnosis diagnosis = diagnosis_of(ring);
  ASSERT_EQ(diagnosis.rhythms.size(), 1u);
  EXPECT_EQ(diagnosis.rhythms[0].operations_a_step, 5u);
  EXPECT_LT(diagnosis.rhythms[0].agreement, 1);
}

TEST(Rhythm, CallsWithoutAPeriodHaveNone) {
  Ring ring = steps_of_five(500);
  ring.count = [](uint32_t call) { return call * uint64_t{2'654'435'761} % 1'000; };
  const Diagnosis diagnosis = diagnosis_of(ring);
  ASSERT_EQ(diagnosis.rhythms.size(), 1u);
  EXPECT_EQ(diagnosis.rhythms[0].operations_a_step, 0u);
  EXPECT_FALSE(diagnosis.rhythms[0].regular());
}

// Ranks and links are judged beside each other, so this was no verdict and was not mentioned.
TEST(Rhythm, AllRanksThatBecomeSlowerAlikeAreNoted) {
  Ring ring = steps_of_five(400);
  ring.computes = [](uint32_t, uint32_t call) {
    return int64_t{call < 250 ? 20'000'000 : 34'000'000};
  };
  const Diagnosis diagnosis = diagnosis_of(ring);
  EXPECT_TRUE(diagnosis.verdicts.empty());
  ASSERT_EQ(diagnosis.notes.size(), 1u);
  const Verdict& note = diagnosis.notes[0];
  EXPECT_EQ(note.what, VerdictClass::kDegradation);
  EXPECT_EQ(note.place.kind, PlaceKind::kJob);
  EXPECT_NEAR(static_cast<double>(note.since_ns), 250 * 26e6, 3 * 130e6);
  EXPECT_THAT(note.summary, HasSubstr("1.54 times"));
}

TEST(Rhythm, StepsThatVaryAndASlowRankAreNoNote) {
  Ring noisy = steps_of_five(600);
  noisy.computes = [](uint32_t, uint32_t call) {
    return int64_t{10'000'000} + static_cast<int64_t>(call * 48'271U % 20'000'000U);
  };
  EXPECT_TRUE(diagnosis_of(noisy).notes.empty());
  Ring slow = steps_of_five(600);
  slow.computes = [](uint32_t rank, uint32_t call) {
    return int64_t{rank == 2 && call > 200 ? 40'000'000 : 20'000'000};
  };
  const Diagnosis diagnosis = diagnosis_of(slow);
  EXPECT_EQ(diagnosis.verdicts.size(), 1u);
  EXPECT_TRUE(diagnosis.notes.empty());
}

// As while a job runs.
TEST(Rhythm, ABoundedSearchIsOfTheMostCallsAndOfTheLatestOfThem) {
  RingJobs job(8);
  job.run(steps_of_five(200));
  Ring busier = steps_of_five(400);
  busier.communicator = 10;
  busier.first_process = 4;
  job.run(busier);
  JobFacts facts(1'000'000);
  for (uint32_t process = 0; process < 8; ++process) {
    facts.add_process({{"host", "h" + std::to_string(process)}}, {});
  }
  for (const RingJobs::Timed& each : job.in_order()) facts.add(each.process, each.event, each.at);
  EXPECT_EQ(find_rhythms(facts, INT64_MIN).size(), 2u);
  const std::vector<Rhythm> rhythms =
      find_rhythms(facts, INT64_MIN, {.communicators = 1, .calls = 100});
  ASSERT_EQ(rhythms.size(), 1u);
  EXPECT_EQ(rhythms[0].communicator, 10u);
  EXPECT_EQ(rhythms[0].operations_a_step, 5u);
  EXPECT_EQ(rhythms[0].steps, 19u) << "of 100 calls";
}

// The first in order of the others has as many calls as the last that is searched.
TEST(Rhythm, ABoundedSearchHasTheBusiestCommunicatorThoughOthersHaveEquallyManyCalls) {
  RingJobs job(12);
  for (uint32_t i = 0; i < 3; ++i) {
    Ring ring = steps_of_five(i == 2 ? 400 : 200);
    ring.communicator = 9 + i;
    ring.first_process = 4 * i;
    job.run(ring);
  }
  JobFacts facts(1'000'000);
  for (uint32_t process = 0; process < 12; ++process) {
    facts.add_process({{"host", "h" + std::to_string(process)}}, {});
  }
  for (const RingJobs::Timed& each : job.in_order()) facts.add(each.process, each.event, each.at);
  const std::vector<Rhythm> rhythms = find_rhythms(facts, INT64_MIN, {.communicators = 2});
  ASSERT_EQ(rhythms.size(), 2u);
  EXPECT_EQ(rhythms[0].communicator, 9u);
  EXPECT_EQ(rhythms[1].communicator, 11u);
}

// "inf times as long", and as long by a negative factor.
TEST(Rhythm, StepsThatTookNoTimeBeforeAreNoNote) {
  const auto notes_after = [](int64_t before_ns) {
    Diagnosis diagnosis;
    diagnosis.rhythms.push_back({.operations_a_step = 5, .steps = 100});
    diagnosis.rhythms[0].change = {.since_ns = 10, .before_ns = before_ns, .after_ns = 1'000};
    note_slower_steps(diagnosis);
    return diagnosis.notes.size();
  };
  EXPECT_EQ(notes_after(0), 0u);
  EXPECT_EQ(notes_after(-500), 0u);
  EXPECT_EQ(notes_after(500), 1u);
}

}  // namespace
}  // namespace heddle::insight
