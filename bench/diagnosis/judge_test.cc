// The diagnosis on a small part of the fault library: what bench/run diagnosis measures at length.
#include "bench/diagnosis/judge.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::bench {
namespace {

// Seeds of their own, apart from those of bench/run.
constexpr uint64_t kFirst = 2'000'000'001;

std::string text_of(uint64_t seed, const Judgement& judgement) {
  std::string text = std::string(name_of(judgement.job.truth.fault)) + ", seed " +
                     std::to_string(seed) + ", effect " + std::to_string(judgement.effect) + ":";
  for (const std::string& each : judgement.verdicts) text += " " + each + ";";
  return text;
}

// An effect of a fifth of the job's time is clear in every shape of job.
TEST(DiagnosisOfFaults, NamesThePlaceOfThirtyFaults) {
  int judged = 0;
  for (uint64_t seed = kFirst; judged < 30; ++seed) {
    const Fault fault = kFaults[1 + seed % (kFaults.size() - 1)];
    const Result<Judgement> judgement = judge(seed, fault, Source::kStream);
    ASSERT_TRUE(judgement.has_value());
    if (judgement->effect < 0.2) continue;
    ++judged;
    EXPECT_TRUE(judgement->place_right) << text_of(seed, *judgement);
  }
}

TEST(DiagnosisOfFaults, HasNoVerdictOnTwoHundredHealthyJobs) {
  int judged = 0;
  for (uint64_t seed = kFirst; seed < kFirst + 200; ++seed) {
    const Result<Judgement> judgement = judge(seed, Fault::kNone, Source::kStream);
    ASSERT_TRUE(judgement.has_value());
    if (judgement->judged) ++judged;
    EXPECT_TRUE(judgement->verdicts.empty()) << text_of(seed, *judgement);
  }
  EXPECT_GT(judged, 150);
}

TEST(DiagnosisOfFaults, NamesAFrozenRankOfASimulation) {
  const Result<Judgement> judgement = judge(kFirst, Fault::kFrozenRank, Source::kSimulation);
  ASSERT_TRUE(judgement.has_value());
  EXPECT_TRUE(judgement->place_right) << text_of(kFirst, *judgement);
  EXPECT_GT(judgement->delay_s, 0);
}

}  // namespace
}  // namespace heddle::bench
