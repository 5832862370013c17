// The diagnosis on a small part of the fault library: what bench/run diagnosis measures at length.
#include "bench/diagnosis/judge.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/testing/sanitized.h"

namespace heddle::bench {
namespace {

// Seeds of their own, apart from those of bench/run.
constexpr uint64_t kFirst = 2'000'000'001;

// Verdicts do not depend on the build: with sanitizers a tenth of the jobs shows how the code
// behaves.
constexpr int kFaulty = kSanitized ? 3 : 30;
constexpr int kHealthy = kSanitized ? 10 : 100;

std::string text_of(uint64_t seed, const Judgement& judgement) {
  std::string text = std::string(name_of(judgement.job.truth.fault)) + ", seed " +
                     std::to_string(seed) + ", effect " + std::to_string(judgement.effect) + ":";
  for (const std::string& each : judgement.verdicts) text += " " + each + ";";
  return text;
}

// An effect of a fifth of the job's time is clear in every shape of job.
TEST(DiagnosisOfFaults, NamesThePlaceOfEachOfThirtyFaults) {
  int judged = 0;
  int right = 0;
  std::vector<Fault> faults;
  for (const Fault each : kFaults) {
    if (each != Fault::kNone && !lacks(Source::kStream, each)) faults.push_back(each);
  }
  for (uint64_t seed = kFirst; judged < kFaulty; ++seed) {
    const Fault fault = faults[seed % faults.size()];
    const Result<Judgement> judgement =
        judge(draw_case(seed, fault, Source::kStream), Source::kStream);
    ASSERT_TRUE(judgement.has_value());
    if (judgement->effect < 0.2) continue;
    ++judged;
    right += judgement->place_right ? 1 : 0;
    if (!judgement->place_right) std::printf("%s\n", text_of(seed, *judgement).c_str());
  }
  EXPECT_EQ(right, kFaulty);
}

TEST(DiagnosisOfFaults, HasNoVerdictOnAHundredHealthyJobs) {
  int judged = 0;
  int accused = 0;
  for (uint64_t seed = kFirst; seed < kFirst + kHealthy; ++seed) {
    const Result<Judgement> judgement =
        judge(draw_case(seed, Fault::kNone, Source::kStream), Source::kStream);
    ASSERT_TRUE(judgement.has_value());
    if (judgement->judged) ++judged;
    if (judgement->verdicts.empty()) continue;
    ++accused;
    std::printf("%s\n", text_of(seed, *judgement).c_str());
  }
  EXPECT_GT(judged, kHealthy * 3 / 4);
  EXPECT_EQ(accused, 0);
}

// A job that was drawn with two ranks had three, of which two links can share no host.
TEST(DiagnosisOfFaults, OfCollisionsHaveLinksThatShareNoHost) {
  for (const Source source : {Source::kStream, Source::kSimulation}) {
    for (uint64_t seed = kFirst; seed < kFirst + 40; ++seed) {
      const FaultCase job = draw_case(seed, Fault::kCollision, source);
      ASSERT_GE(job.ranks / job.ranks_per_host, 4u) << seed;
      if (source == Source::kStream) {
        const uint32_t second = 2 * job.ranks_per_host;
        EXPECT_TRUE(job.collides(0, job.ranks_per_host)) << seed;
        EXPECT_TRUE(job.collides(second, second + job.ranks_per_host)) << seed;
      }
    }
  }
}

// All-to-alls of six hosts with two ranks: most links of a NIC meet, and so do others elsewhere.
TEST(DiagnosisOfFaults, LinksThatCollideAreNotOneOfTheirNics) {
  constexpr uint64_t kMeeting = 197;
  const Result<Judgement> judgement =
      judge(draw_case(kMeeting, Fault::kCollision, Source::kStream), Source::kStream);
  ASSERT_TRUE(judgement.has_value());
  EXPECT_TRUE(judgement->class_right) << text_of(kMeeting, *judgement);
  EXPECT_TRUE(judgement->place_right) << text_of(kMeeting, *judgement);
}

// All-to-alls, of which each rank sends all at once: a link was late whose messages met others at
// its receiver's NIC.
TEST(DiagnosisOfFaults, AccusesNoHealthyExchangeOfASimulation) {
  for (const uint64_t seed : {27u, 30u}) {
    const Result<Judgement> judgement =
        judge(draw_case(seed, Fault::kNone, Source::kSimulation), Source::kSimulation);
    ASSERT_TRUE(judgement.has_value());
    EXPECT_TRUE(judgement->judged);
    EXPECT_TRUE(judgement->verdicts.empty()) << text_of(seed, *judgement);
  }
}

TEST(DiagnosisOfFaults, NamesAFrozenRankOfASimulation) {
  constexpr uint64_t kFrozen = 2;
  const Result<Judgement> judgement =
      judge(draw_case(kFrozen, Fault::kFrozenRank, Source::kSimulation), Source::kSimulation);
  ASSERT_TRUE(judgement.has_value());
  EXPECT_TRUE(judgement->place_right) << text_of(kFrozen, *judgement);
  EXPECT_GT(judgement->delay_s, 0);
}

// Its link to a leaf goes down five times; other spines carry the data meanwhile.
TEST(DiagnosisOfFaults, NamesTheSpineOfAFlappingLink) {
  constexpr uint64_t kFlapping = 3;
  const Result<Judgement> judgement =
      judge(draw_case(kFlapping, Fault::kFlappingLink, Source::kSimulation), Source::kSimulation);
  ASSERT_TRUE(judgement.has_value());
  EXPECT_TRUE(judgement->place_right) << text_of(kFlapping, *judgement);
  EXPECT_TRUE(judgement->class_right) << text_of(kFlapping, *judgement);
}

// All-reduces of four ranks; other algorithms than rings were not judged.
TEST(DiagnosisOfFaults, NamesTheSlowNicOfASimulationWhateverTheAlgorithm) {
  constexpr uint64_t kSlowNic = 22;
  for (const topology::AlgorithmChoice& algorithm :
       {topology::AlgorithmChoice{topology::CallAlgorithm::kTree},
        topology::AlgorithmChoice{topology::CallAlgorithm::kHalvingDoubling},
        topology::AlgorithmChoice{topology::CallAlgorithm::kTwoLevel, 2}}) {
    FaultCase job = draw_case(kSlowNic, Fault::kSlowNic, Source::kSimulation);
    job.shape = Shape::kBuckets;
    job.algorithm = algorithm;
    ASSERT_EQ(job.ranks, 4u);
    const Result<Judgement> judgement = judge(job, Source::kSimulation);
    ASSERT_TRUE(judgement.has_value());
    EXPECT_TRUE(judgement->place_right)
        << topology::text_of(algorithm) << ": " << text_of(kSlowNic, *judgement);
    EXPECT_EQ(judgement->others, 0u) << topology::text_of(algorithm);
  }
}

}  // namespace
}  // namespace heddle::bench
