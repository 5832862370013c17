// The fit finds the numbers of a network that keeps to the model, whatever the first calls took,
// and gives sound ones where the network does not.
#include "collectives/choice/tuning_fit.h"

#include <gtest/gtest.h>

namespace heddle::collectives {
namespace {

// What a call takes that moves all the time.
uint64_t busy_ns(const Tuning& network, uint32_t size, const TuningFit::Probe& probe) {
  const Work work = work_of(probe.collective, probe.algorithm, size, probe.bytes);
  return network.cost_ns(probe.collective, probe.algorithm, size, probe.bytes) -
         work.delayed * network.send_ps_per_byte / 1000;
}

// `disturbed` of each kind's last rounds took 30 times as long.
TuningFit probes_of(const Tuning& network, uint32_t size, size_t disturbed = 0) {
  TuningFit fit;
  for (size_t i = 0; i < TuningFit::kMostProbes; ++i) {
    const TuningFit::Probe probe = TuningFit::probe(i);
    const uint64_t ns = busy_ns(network, size, probe);
    const size_t round = i % TuningFit::kRounds;
    const bool late = round >= TuningFit::kRounds - disturbed;
    fit.note(i, {static_cast<int64_t>(round < 2 ? 50 * ns : late ? 30 * ns : ns)});
  }
  fit.note_reduction({static_cast<int64_t>(network.reduce_ps_per_byte)}, 1000);
  return fit;
}

// Whether a ring's bytes are more than a twentieth of its largest call, the rest being latency.
bool bytes_count(const Tuning& network, uint32_t size) {
  const Work work =
      work_of(Collective::kAllReduce, Algorithm::kRing, size, TuningFit::kLargestBytes);
  const uint64_t whole =
      network.cost_ns(Collective::kAllReduce, Algorithm::kRing, size, TuningFit::kLargestBytes);
  return work.sent * network.ring_ps_per_byte / 1000 >= whole / 20;
}

TEST(TuningFit, FindsTheNumbersOfANetworkThatKeepsToTheModel) {
  for (const uint32_t size : {2U, 3U, 4U, 8U, 13U, 64U}) {
    for (const uint32_t latency : {3'000U, 40'000U}) {
      for (const uint32_t byte : {100U, 500U, 8'000U}) {
        Tuning network;
        network.latency_ns = latency;
        network.large_latency_ns = 3 * latency;
        network.send_ps_per_byte = byte;
        network.ring_ps_per_byte = byte / 2;
        network.reduce_ps_per_byte = 90;
        network.following_ns = latency / 2;
        const Tuning found = probes_of(network, size).fitted(Tuning(), size);
        EXPECT_NEAR(found.latency_ns, latency, 0.03 * latency) << size;
        EXPECT_NEAR(found.large_latency_ns, 3 * latency, 0.05 * 3 * latency) << size;
        EXPECT_NEAR(found.send_ps_per_byte, byte, 0.05 * byte) << size;
        const uint32_t round = bytes_count(network, size) ? byte / 2 : byte;
        EXPECT_NEAR(found.ring_ps_per_byte, round, 0.1 * byte) << size;
        EXPECT_EQ(found.reduce_ps_per_byte, 90U);
        const bool asked = TuningFit::probes(size) == TuningFit::kMostProbes;
        EXPECT_NEAR(found.following_ns, latency / (asked ? 2 : 4), 0.05 * latency) << size;
      }
    }
  }
}

// Two numbers say of no network all that there is: at the sizes that were measured the fastest is
// chosen.
TEST(TuningFit, AtMeasuredSizesWhatWasFastestIsChosen) {
  const Tuning network;
  for (const Algorithm fastest : {Algorithm::kRing, Algorithm::kHalvingDoubling,
                                  Algorithm::kRecursiveDoubling, Algorithm::kTree}) {
    for (const uint32_t size : {4U, 8U}) {
      TuningFit fit;
      for (size_t i = 0; i < TuningFit::kMostProbes; ++i) {
        const TuningFit::Probe probe = TuningFit::probe(i);
        const uint64_t ns =
            network.cost_ns(Collective::kAllReduce, Algorithm::kHalvingDoubling, size, probe.bytes);
        const uint64_t more = probe.algorithm == fastest ? ns : ns + ns / 3;
        fit.note(i, {static_cast<int64_t>(more)});
      }
      const Tuning found = fit.fitted(Tuning(), size);
      for (const uint64_t bytes : Tuning::kMeasuredBytes) {
        EXPECT_EQ(found.choose(Collective::kAllReduce, size, bytes), fastest) << size;
      }
    }
  }
}

// Whatever they took, it was taken for a quarter of a latency, so that four ranks on two cores
// chose the slower one.
TEST(TuningFit, WhereMessagesFollowEachOtherAnAllToAllTakesFewRounds) {
  for (const uint32_t following : {2'000U, 20'000U}) {
    Tuning network;
    network.following_ns = following;
    const Tuning found = probes_of(network, 4).fitted(Tuning(), 4);
    EXPECT_EQ(found.choose(Collective::kAllToAll, 4, 1024),
              following == 2'000U ? Algorithm::kPairwise : Algorithm::kBruck);
  }
}

// Whoever measured a busy host would choose by latency where bytes decide, for as long as the
// communicator lives.
TEST(TuningFit, RoundsThatSomethingDisturbedDoNotCount) {
  Tuning network;
  network.latency_ns = 5'000;
  network.large_latency_ns = 15'000;
  for (const uint32_t size : {2U, 4U, 8U}) {
    const Tuning quiet = probes_of(network, size).fitted(Tuning(), size);
    EXPECT_EQ(probes_of(network, size, 3).fitted(Tuning(), size), quiet) << size;
  }
}

// Four ranks that trained on two cores measured while their programs still made their models: all
// calls took some slices of the scheduler, a byte nothing, and buckets of 25 MB went by recursive
// doubling, twice as slowly as round a ring.
TEST(TuningFit, WhereOnlyLatencyCouldBeMeasuredMuchDataTakesLittleTraffic) {
  for (const int64_t slices : {1, 4, 10, 30}) {
    for (const int64_t beside : {-3, -1, 0, 1, 3}) {
      TuningFit fit;
      for (size_t i = 0; i < TuningFit::kMostProbes; ++i) {
        const uint64_t bytes = TuningFit::probe(i).bytes;
        const size_t round = i % TuningFit::kRounds;
        const bool got_cores = bytes == 8 && (round == 5 || round == 6);
        const Nanos more = micros(bytes > 64 << 10 ? 30 * beside : 0);
        fit.note(i, got_cores ? micros(200) : millis(slices) + more);
      }
      fit.note_reduction(micros(30), 1'000'000);
      const Tuning found = fit.fitted(Tuning(), 4);
      for (const uint64_t bytes : {uint64_t{16} << 20, uint64_t{25} << 20, uint64_t{64} << 20}) {
        const Algorithm chosen = found.choose(Collective::kAllReduce, 4, bytes);
        EXPECT_TRUE(chosen == Algorithm::kRing || chosen == Algorithm::kHalvingDoubling)
            << slices << " " << beside << " " << bytes << " " << name_of(chosen);
      }
    }
  }
}

// Calls of next to nothing wait for a core where programs still begin, and of two that follow each
// other one is short by what this rank came later than its peer.
TEST(TuningFit, LatencyIsThatOfTheTwoCallsThatTookLeast) {
  Tuning network;
  network.latency_ns = 50'000;
  network.large_latency_ns = 80'000;
  TuningFit waiting = probes_of(network, 4);
  TuningFit skewed = probes_of(network, 4);
  for (size_t i = 0; i < TuningFit::kMostProbes; ++i) {
    if (TuningFit::probe(i).bytes != 8) continue;
    const size_t round = i % TuningFit::kRounds;
    const uint64_t whole =
        network.cost_ns(TuningFit::probe(i).collective, TuningFit::probe(i).algorithm, 4, 8);
    if (round != 4 && round != 5) waiting.note(i, millis(5));
    skewed.note(i, nanos(static_cast<int64_t>(whole) + (round % 2 == 0 ? 30'000 : -30'000)));
  }
  EXPECT_NEAR(waiting.fitted(Tuning(), 4).latency_ns, 50'000, 1'500);
  EXPECT_NEAR(skewed.fitted(Tuning(), 4).latency_ns, 50'000, 1'500);
}

TEST(TuningFit, GivesSoundNumbersWhereNothingFits) {
  for (const uint32_t size : {1U, 2U, 5U, 4096U}) {
    for (const int64_t ns : {int64_t{0}, int64_t{1}, int64_t{1} << 60}) {
      TuningFit fit;
      for (size_t i = 0; i < TuningFit::kMostProbes; ++i) fit.note(i, {i % 3 == 0 ? ns : 7});
      const Tuning found = fit.fitted(Tuning(), size);
      EXPECT_GT(found.latency_ns, 0U);
      EXPECT_GE(found.large_latency_ns, found.latency_ns);
      EXPECT_GT(found.following_ns, 0U);
      EXPECT_LE(found.following_ns, found.latency_ns);
      EXPECT_GT(found.send_ps_per_byte, 0U);
      EXPECT_EQ(found.reduce_ps_per_byte, Tuning().reduce_ps_per_byte);
    }
  }
}

}  // namespace
}  // namespace heddle::collectives
