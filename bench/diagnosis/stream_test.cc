// The diagnosis of streams without noise but what a test adds: unequal lengths of sequences are a
// note in each shape of job, jitter is none; and how long after its onset a clear fault has a
// verdict.
#include "bench/diagnosis/stream.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/diagnosis/judge.h"

namespace heddle::bench {
namespace {

// A verdict needs an episode that lasts this long (kLeastEpisodeNs and kLeastRankEpisodeNs of
// insight/diagnosis/params.h): then a fault's effect shows.
constexpr double kLinkShowsAfterS = 2;
constexpr double kRankShowsAfterS = 5;
constexpr double kMostDelayS = 1;

constexpr uint64_t kSeeds = 4;

// Steps of four calls and 108 ms.
FaultCase quiet_case(uint64_t seed, Shape shape) {
  FaultCase job;
  job.seed = seed;
  job.shape = shape;
  job.ranks = 6;
  job.steps = 150;
  job.calls = 4;
  job.step_ns = 100e6;
  job.transfer_ns = 2e6;
  return job;
}

bool has_note(const FaultCase& job) {
  const ObservedJob observed = make_stream(job);
  const insight::Diagnosis diagnosis = diagnose(observed, observed.until_ns);
  return std::any_of(diagnosis.notes.begin(), diagnosis.notes.end(),
                     [](const insight::Verdict& each) {
                       return each.what == insight::VerdictClass::kLoadImbalance &&
                              each.place.kind == insight::PlaceKind::kJob;
                     });
}

// Of a fault in the twelfth second of a job of four ranks, until its place is known, s; -1: never.
// Steps take 28 ms: of many calls the mean repair varies less.
double delay_of(uint64_t seed, Fault fault, double severity) {
  FaultCase job = quiet_case(seed, Shape::kSharded);
  job.ranks = 4;
  job.steps = 800;
  job.step_ns = 20e6;
  job.truth.fault = fault;
  job.truth.rank = 1;
  job.truth.peer = 2;
  job.truth.severity = severity;
  job.truth.onset_step = 400;
  const Result<Judgement> judgement = judge(job, Source::kStream);
  return judgement ? judgement->delay_s : -1;
}

// Reductions overlap the computation or not, and waits are recorded or not. By chance one of some
// thirty such jobs has a rank that looks slower than the others.
TEST(DiagnosisOfStreams, LengthsOfSequencesAreANoteInEachShapeOfJob) {
  uint64_t noted = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const Shape shape : {Shape::kBuckets, Shape::kSharded, Shape::kExchange}) {
      FaultCase job = quiet_case(seed, shape);
      job.noise.lengths = 0.4;
      noted += has_note(job) ? 1 : 0;
    }
    FaultCase calls_alone = quiet_case(seed, Shape::kSharded);
    calls_alone.noise.lengths = 0.4;
    calls_alone.waits = false;
    noted += has_note(calls_alone) ? 1 : 0;
  }
  EXPECT_GE(noted, 4 * kSeeds - 3);
}

TEST(DiagnosisOfStreams, JitterOfSingleCallsIsNoNote) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    FaultCase job = quiet_case(seed, Shape::kSharded);
    job.noise.jitter = 0.4;
    EXPECT_FALSE(has_note(job)) << seed;
  }
}

TEST(DiagnosisOfStreams, ASlowRankIsNamedWithinASecondAfterItsEffectShows) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const double delay = delay_of(seed, Fault::kSlowRank, 2);
    EXPECT_GT(delay, 0) << seed;
    EXPECT_LE(delay, kRankShowsAfterS + kMostDelayS) << seed;
  }
}

TEST(DiagnosisOfStreams, ANicThatLosesPacketsIsNamedWithinASecondAfterItsEffectShows) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const double delay = delay_of(seed, Fault::kLossyNic, 0.1);
    EXPECT_GT(delay, 0) << seed;
    EXPECT_LE(delay, kLinkShowsAfterS + kMostDelayS) << seed;
  }
}

}  // namespace
}  // namespace heddle::bench
