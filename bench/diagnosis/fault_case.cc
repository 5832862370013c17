// See fault_case.h.
#include "bench/diagnosis/fault_case.h"

#include <algorithm>
#include <cmath>

#include "bench/diagnosis/draw.h"

namespace heddle::bench {
namespace {

// What draws at a place and time are for.
enum Purpose : uint64_t {
  kCase = 1,
  kRank,
  kStep,
  kSlice,
  kCrowd,
  kLoad,
  kPauses,
  kMeeting,
  kTurn
};

// Deviations and rates are drawn over what operators report; each kind of noise is in a part of
// the jobs only, so that quiet jobs are tested, too.
Noise draw_noise(Random& random, const FaultCase& job) {
  Noise noise;
  const double total_ns = job.step_ns * job.steps;
  noise.jitter = log_uniform(random, 0.003, 0.1);
  noise.rank_spread = uniform(random, 0, 0.01);
  if (chance(random, 0.3)) noise.lengths = uniform(random, 0.1, 0.5);
  if (chance(random, 0.5)) {
    noise.spike_chance = log_uniform(random, 0.001, 0.03);
    noise.spike_ns = log_uniform(random, 1e6, 50e6);
  }
  if (chance(random, 0.3)) noise.logging = uniform(random, 0.005, 0.02);
  if (chance(random, 0.6)) {
    noise.first_steps = static_cast<uint32_t>(random.between(1, 5));
    noise.first_factor = log_uniform(random, 1, 30);
  }
  if (chance(random, 0.4)) {
    noise.checkpoint_steps = static_cast<uint32_t>(random.between(10, 60));
    noise.checkpoint_ns = std::min(log_uniform(random, 0.1e9, 5e9), total_ns / 5);
    noise.checkpoint_by_all = chance(random, 0.5);
  }
  if (chance(random, 0.3)) {
    noise.evaluation_steps = static_cast<uint32_t>(random.between(20, 80));
    noise.evaluation_ns = std::min(log_uniform(random, 0.5e9, 5e9), total_ns / 5);
  }
  if (chance(random, 0.2)) noise.phase_factor = uniform(random, 0.6, 1.8);
  if (chance(random, 0.15)) {
    noise.crowding = uniform(random, 1.3, 2.5);
    noise.crowded_ns = log_uniform(random, 5e6, 300e6);
  }
  if (job.shape == Shape::kExperts) noise.imbalance = uniform(random, 0.05, 0.5);
  if (chance(random, 0.3)) {
    noise.congestion_chance = log_uniform(random, 0.005, 0.1);
    noise.congestion_ns = log_uniform(random, 1e6, 200e6);
    noise.congestion_factor = uniform(random, 1.2, 5);
  }
  if (chance(random, 0.5)) noise.repair_chance = log_uniform(random, 1e-4, 1e-2);
  noise.clock_error_ns = log_uniform(random, 1e3, 300e3);
  return noise;
}

void draw_size(Random& random, Source source, FaultCase& job) {
  constexpr std::array<uint32_t, 8> kRanks = {2, 3, 4, 4, 6, 8, 12, 16};
  const bool simulated = source == Source::kSimulation;
  job.ranks = kRanks[random.below(kRanks.size())];
  job.ranks_per_host = job.ranks % 2 == 0 && job.ranks > 2 && chance(random, 0.3) ? 2 : 1;
  job.calls = job.shape == Shape::kExperts ? 3 : static_cast<uint32_t>(random.between(1, 4));
  job.steps = static_cast<uint32_t>(simulated ? random.between(60, 120) : random.between(40, 300));
  const bool healthy = job.truth.fault == Fault::kNone;
  const double total_ns = simulated ? log_uniform(random, 8e9, 30e9)
                          : healthy ? log_uniform(random, 0.3e9, 180e9)
                                    : log_uniform(random, 20e9, 180e9);
  const double share = log_uniform(random, 0.05, 0.6);  // of communication
  job.step_ns = total_ns / job.steps * (1 - share);
  job.transfer_ns = total_ns / job.steps * share / job.calls;
}

void draw_truth(Random& random, FaultCase& job) {
  Truth& truth = job.truth;
  truth.rank = static_cast<uint32_t>(random.below(job.ranks));
  truth.onset_step = static_cast<uint32_t>(job.steps * uniform(random, 0.2, 0.5));
  switch (truth.fault) {
    case Fault::kSlowRank:
      truth.severity = std::array{1.05, 1.1, 1.2, 1.5, 2.0}[random.below(5)];
      break;
    case Fault::kGradualRank:
      truth.severity = std::array{1.2, 1.5, 2.0}[random.below(3)];
      break;
    case Fault::kSlowHost:
      truth.severity = std::array{1.2, 1.5, 2.0}[random.below(3)];
      break;
    case Fault::kCollision:
      truth.severity = std::array{0.25, 0.33, 0.5}[random.below(3)];
      truth.turn_ns = log_uniform(random, 0.05e9, 3e9);
      break;
    case Fault::kLossyNic:
      truth.severity = std::array{0.001, 0.003, 0.01, 0.03, 0.1}[random.below(5)];
      break;
    case Fault::kSlowNic:
    case Fault::kSlowLink:
      truth.severity = std::array{0.1, 0.2, 0.3, 0.5, 0.7}[random.below(5)];
      break;
    default:
      truth.severity = 1;
  }
  truth.side = static_cast<NicSide>(random.below(3));
}

// Of a simulation the pair of neighbors between its two leaves, of which the first has half of the
// ranks.
void draw_leaves(Random& random, FaultCase& job) {
  job.ranks_per_host = 1;
  job.truth.rank = chance(random, 0.5) ? (job.ranks + 1) / 2 - 1 : job.ranks - 1;
  job.truth.peer = (job.truth.rank + 1) % job.ranks;
}

// Links of even hosts to odd ones may meet, and those between hosts of a pair do: four hosts have
// two that share none. Of a simulation the even hosts are below one leaf.
void draw_meeting(Source source, FaultCase& job) {
  const bool simulated = source == Source::kSimulation;
  if (job.ranks / job.ranks_per_host < 4 || simulated) job.ranks_per_host = 1;
  job.ranks = std::max(4u, job.ranks + job.ranks % 2);
  if (simulated) job.ranks = std::min(job.ranks, 8u);
  // A turn is many packets of all its neighbors.
  if (simulated) job.truth.turn_ns = std::max(job.truth.turn_ns, 0.5e9);
}

// Of a ring the next rank; of all-to-alls any other one. Links within a host are memory.
void draw_peer(Random& random, FaultCase& job) {
  Truth& truth = job.truth;
  const bool ring = job.shape == Shape::kBuckets || job.shape == Shape::kSharded;
  do {
    if (!ring || job.host_of(truth.rank) == job.host_of((truth.rank + 1) % job.ranks)) {
      truth.rank = static_cast<uint32_t>(random.below(job.ranks));
    }
    truth.peer =
        ring ? (truth.rank + 1) % job.ranks : static_cast<uint32_t>(random.below(job.ranks));
  } while (job.host_of(truth.rank) == job.host_of(truth.peer));
}

}  // namespace

const char* name_of(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "none";
    case Fault::kStoppedRank:
      return "stopped_rank";
    case Fault::kFrozenRank:
      return "frozen_rank";
    case Fault::kMismatch:
      return "mismatch";
    case Fault::kSlowRank:
      return "slow_rank";
    case Fault::kGradualRank:
      return "gradual_rank";
    case Fault::kSlowNic:
      return "slow_nic";
    case Fault::kLossyNic:
      return "lossy_nic";
    case Fault::kSlowLink:
      return "slow_link";
    case Fault::kFlappingLink:
      return "flapping_link";
    case Fault::kFlappingNic:
      return "flapping_nic";
    case Fault::kSlowHost:
      return "slow_host";
    case Fault::kCollision:
      return "collision";
  }
  return "unknown";
}

const char* name_of(Shape shape) {
  switch (shape) {
    case Shape::kBuckets:
      return "buckets";
    case Shape::kSharded:
      return "sharded";
    case Shape::kExperts:
      return "experts";
    case Shape::kExchange:
      return "exchange";
  }
  return "unknown";
}

FaultCase draw_case(uint64_t seed, Fault fault, Source source) {
  Random random =
      random_at(seed, kCase, static_cast<uint64_t>(fault), static_cast<uint64_t>(source));
  FaultCase job;
  job.seed = random.next();
  job.truth.fault = fault;
  constexpr std::array kShapes = {Shape::kBuckets, Shape::kSharded, Shape::kExperts,
                                  Shape::kExchange};
  job.shape = kShapes[random.below(kShapes.size())];
  draw_size(random, source, job);
  const bool ring = job.shape == Shape::kBuckets || job.shape == Shape::kSharded;
  job.waits = job.shape == Shape::kBuckets || chance(random, 0.75);
  job.noise = draw_noise(random, job);
  // Its all-to-alls are of equal sizes: more work without more data is a fault.
  if (source == Source::kSimulation) job.noise.imbalance = 0;
  draw_truth(random, job);
  // Links are compared with each other, and of exchanges between two there is one pair.
  const bool of_network = fault == Fault::kSlowNic || fault == Fault::kLossyNic ||
                          fault == Fault::kSlowLink || flaps(fault) || fault == Fault::kSlowHost;
  if (of_network && job.ranks / job.ranks_per_host < 3) {
    job.ranks = 4;
    job.ranks_per_host = 1;
  }
  if (fault == Fault::kSlowHost && source == Source::kSimulation) job.ranks_per_host = 1;
  if (of_network) draw_peer(random, job);
  if (fault == Fault::kSlowLink && source == Source::kSimulation) draw_leaves(random, job);
  if (fault == Fault::kFlappingLink) {
    draw_leaves(random, job);
    job.spines = 4;
  }
  if (fault == Fault::kCollision) draw_meeting(source, job);
  // A loss inside of a host does not happen; messages are recorded by heddle alone.
  if (of_network || fault == Fault::kCollision || !ring) job.waits = true;
  return job;
}

bool FaultCase::collides(uint32_t from, uint32_t to) const {
  const uint32_t sender = host_of(from);
  const uint32_t receiver = host_of(to);
  if (truth.fault != Fault::kCollision || sender % 2 != 0 || receiver % 2 != 1) return false;
  if (receiver == sender + 1) return true;
  Random random = random_at(seed, kMeeting, sender, receiver);
  return chance(random, 0.5);
}

bool FaultCase::neighbor_sends(uint64_t turn) const {
  Random random = random_at(seed, kTurn, turn, 0);
  return chance(random, 0.5);
}

// --- computation ---

Computation::Computation(const FaultCase& job)
    : job_(job), slice_ns_(job.step_ns / std::max(1u, job.calls)) {}

double Computation::load(uint32_t rank, uint32_t step) const {
  if (job_.noise.imbalance == 0) return 1;
  // Popularity changes slowly: a mean of two draws of some steps ago and of soon.
  constexpr uint32_t kSteps = 20;
  Random constant = random_at(job_.seed, kLoad, rank, UINT64_MAX);
  Random before = random_at(job_.seed, kLoad, rank, step / kSteps);
  Random after = random_at(job_.seed, kLoad, rank, step / kSteps + 1);
  const double at = static_cast<double>(step % kSteps) / kSteps;
  const double drift = (1 - at) * gaussian(before) + at * gaussian(after);
  return std::exp(job_.noise.imbalance * (0.7 * gaussian(constant) + 0.7 * drift));
}

double Computation::fault_factor(uint32_t rank, uint32_t step) const {
  const Truth& truth = job_.truth;
  if (job_.host_of(rank) != job_.host_of(truth.rank) || step < truth.onset_step) return 1;
  if (truth.fault == Fault::kSlowHost) return truth.severity;
  if (rank != truth.rank) return 1;
  if (truth.fault == Fault::kSlowRank) return truth.severity;
  if (truth.fault != Fault::kGradualRank) return 1;
  const double rest = 0.8 * (job_.steps - truth.onset_step);
  return 1 + (truth.severity - 1) * std::min(1.0, (step - truth.onset_step) / rest);
}

// Where ranks outnumber cores, a rank shares its core for some time and then has one for itself.
double Computation::crowding(uint32_t rank, uint32_t step) const {
  if (job_.noise.crowding == 1) return 1;
  const double each = job_.step_ns + job_.calls * job_.transfer_ns;
  const double from = each * step / job_.noise.crowded_ns;
  const double to = each * (step + 1) / job_.noise.crowded_ns;
  double sum = 0;
  constexpr int kLooks = 8;  // at the crowd of this moment, in a step
  for (int look = 0; look < kLooks; ++look) {
    const auto slot = static_cast<uint64_t>(from + (to - from) * look / kLooks);
    Random random = random_at(job_.seed, kCrowd, rank, slot);
    sum += chance(random, 0.5) ? job_.noise.crowding : 1;
  }
  return sum / kLooks;
}

double Computation::interruptions_ns(uint32_t rank, uint32_t step) const {
  const Noise& noise = job_.noise;
  Random random = random_at(job_.seed, kPauses, rank, step);
  double ns = 0;
  if (noise.checkpoint_steps > 0 && step % noise.checkpoint_steps == noise.checkpoint_steps - 1 &&
      (rank == 0 || noise.checkpoint_by_all)) {
    ns += noise.checkpoint_ns * lognormal(random, 0.2);
  }
  if (noise.evaluation_steps > 0 && step % noise.evaluation_steps == noise.evaluation_steps - 1) {
    ns += noise.evaluation_ns * lognormal(random, 0.05);
  }
  return ns;
}

double Computation::ns(uint32_t rank, uint32_t step, uint32_t slice) const {
  const Noise& noise = job_.noise;
  Random of_rank = random_at(job_.seed, kRank, rank, 0);
  Random of_step = random_at(job_.seed, kStep, rank, step);
  Random of_slice = random_at(job_.seed, kSlice, rank, uint64_t{step} * 64 + slice);
  double factor = 1 + noise.rank_spread * gaussian(of_rank);
  if (rank == 0) factor += noise.logging;
  factor *= lognormal(of_slice, noise.jitter);
  if (noise.lengths > 0) factor *= lognormal(of_step, noise.lengths);
  // Ranks differ in it, one by one and each time.
  const double first = noise.first_factor * uniform(of_rank, 0.7, 1.3) * uniform(of_step, 0.7, 1.3);
  if (step < noise.first_steps) factor *= 1 + first;
  if (step >= job_.steps / 3 && step < 2 * job_.steps / 3) factor *= noise.phase_factor;
  // Experts compute between the two all-to-alls.
  if (job_.shape == Shape::kExperts && slice == 1) factor *= load(rank, step);
  double ns = slice_ns_ * factor * crowding(rank, step) * fault_factor(rank, step);
  if (chance(of_slice, noise.spike_chance)) ns += exponential(of_slice, noise.spike_ns);
  if (slice == 0) ns += interruptions_ns(rank, step);
  return std::max(1000.0, ns);
}

}  // namespace heddle::bench
