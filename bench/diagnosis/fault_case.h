// FaultCase: a job of the fault library, drawn from a seed: its shape, the noise of healthy hosts
// and networks, and one fault or none, with place, severity and onset. Streams (stream.h) and
// simulations (simulation.h) make events of it.
#pragma once

#include <array>
#include <cstdint>

#include "topology/job.h"

namespace heddle::bench {

enum class Source : uint8_t { kStream, kSimulation };

enum class Fault : uint8_t {
  kNone,
  kStoppedRank,   // never starts an operation; its process lives
  kFrozenRank,    // its process stops in mid-operation
  kMismatch,      // it calls an operation with another count
  kSlowRank,      // it computes `severity` times as long from the onset on
  kGradualRank,   // the same, reached bit by bit
  kSlowNic,       // a NIC's link has `severity` of its rate
  kLossyNic,      // a NIC's link loses `severity` of its packets
  kSlowLink,      // a link between two ranks, or switches, has `severity` of its rate
  kFlappingLink,  // a link of a spine goes down and up; simulated only
  kFlappingNic,   // a NIC's link does
  kSlowHost,      // its ranks compute `severity` times as long, and its data takes as much longer
  kCollision,     // links that share no host have `severity` of their rate while a neighbor sends
};
inline constexpr std::array kFaults = {
    Fault::kNone,      Fault::kStoppedRank,  Fault::kFrozenRank,  Fault::kMismatch,
    Fault::kSlowRank,  Fault::kGradualRank,  Fault::kSlowNic,     Fault::kLossyNic,
    Fault::kSlowLink,  Fault::kFlappingLink, Fault::kFlappingNic, Fault::kSlowHost,
    Fault::kCollision,
};
const char* name_of(Fault fault);
inline bool flaps(Fault fault) {
  return fault == Fault::kFlappingLink || fault == Fault::kFlappingNic;
}
// Streams have no paths.
inline bool lacks(Source source, Fault fault) { return source == Source::kStream && flaps(fault); }
// It costs time and does not stop the job.
inline bool slows(Fault fault) { return fault >= Fault::kSlowRank; }
// It is a fault whether it costs time or not.
inline bool is_seen_without_effect(Fault fault) { return flaps(fault); }

enum class Shape : uint8_t {
  kBuckets,   // all-reduces during the backward pass
  kSharded,   // all-gathers and reduce-scatters, which the caller waits for
  kExperts,   // all-to-alls of unequal sizes, and an all-reduce
  kExchange,  // equal all-to-alls
};
const char* name_of(Shape shape);

enum class NicSide : uint8_t { kBoth, kSending, kReceiving };

struct Truth {
  Fault fault = Fault::kNone;
  uint32_t rank = 0;  // of a link: the sender
  uint32_t peer = 0;  // of a link: the receiver
  NicSide side = NicSide::kBoth;
  double severity = 0;
  uint32_t onset_step = 0;
  double turn_ns = 0;  // of a collision: the neighbor sends, or does not, for this long
};

// What a healthy job has to live with. Times are in ns; 0 of a period: never.
struct Noise {
  double jitter = 0.01;        // deviation of a slice of computation
  double rank_spread = 0.005;  // deviation of ranks' own constant speed
  double lengths = 0;          // deviation of a step's work on a rank: lengths of sequences
  double spike_chance = 0;     // of a slice: the host does something else
  double spike_ns = 0;         // mean
  double logging = 0;          // rank 0's constant surplus
  uint32_t first_steps = 0;    // compile, allocate, open files
  double first_factor = 0;     // mean surplus of these
  uint32_t checkpoint_steps = 0;
  double checkpoint_ns = 0;
  bool checkpoint_by_all = false;  // else by rank 0 alone
  uint32_t evaluation_steps = 0;
  double evaluation_ns = 0;
  double phase_factor = 1;       // of the job's second third, on all ranks
  double crowding = 1;           // a crowded rank's factor; 1: there are cores enough
  double crowded_ns = 0;         // a crowd lasts
  double imbalance = 0;          // deviation of experts' shares of tokens
  double congestion_chance = 0;  // of a link in a slot: a neighbor's burst
  double congestion_ns = 0;      // slot
  double congestion_factor = 1;  // of its transfers
  double repair_chance = 0;      // of a message: a loss is repaired
  double clock_error_ns = 0;     // of hosts on the job's one clock
};

struct FaultCase {
  uint64_t seed = 0;
  Shape shape = Shape::kBuckets;
  topology::AlgorithmChoice algorithm;  // of all-reduces in a simulation's buckets
  uint32_t ranks = 4;
  uint32_t ranks_per_host = 1;
  uint32_t spines = 1;  // of a simulation
  uint32_t steps = 100;
  uint32_t calls = 1;      // of a step
  double step_ns = 0;      // computation of a step
  double transfer_ns = 0;  // of a call
  bool waits = true;       // false: calls alone are recorded, as where they are imported
  Noise noise;
  Truth truth;

  uint32_t host_of(uint32_t rank) const { return rank / ranks_per_host; }
  // The same without a fault has its fabric and places, too.
  bool may_collide() const { return truth.turn_ns > 0; }
  // Of a collision: the link of these two ranks is one of those that meet.
  bool collides(uint32_t from, uint32_t to) const;
  // And the neighbor sends in that turn since the onset; as often as not.
  bool neighbor_sends(uint64_t turn) const;
};

// Simulations are shorter: each packet costs.
FaultCase draw_case(uint64_t seed, Fault fault, Source source);

// How long a rank computes before a call, ns, the rank's own fault included.
class Computation {
 public:
  explicit Computation(const FaultCase& job);
  // Of a slice of a step: what comes before its call of that number.
  double ns(uint32_t rank, uint32_t step, uint32_t slice) const;
  // Tokens of a rank's experts over the mean, in this step.
  double load(uint32_t rank, uint32_t step) const;
  // By which a fault makes the rank slower in this step; 1: by nothing.
  double fault_factor(uint32_t rank, uint32_t step) const;

 private:
  double interruptions_ns(uint32_t rank, uint32_t step) const;
  double crowding(uint32_t rank, uint32_t step) const;

  const FaultCase& job_;
  double slice_ns_ = 0;
};

}  // namespace heddle::bench
