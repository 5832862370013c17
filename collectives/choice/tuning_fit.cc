// TuningFit: see tuning_fit.h.
#include "collectives/choice/tuning_fit.h"

#include <algorithm>

namespace heddle::collectives {
namespace {

constexpr uint64_t kNextToNothing = 8;  // bytes
constexpr std::array<TuningFit::Probe, TuningFit::kKinds> kKindsOfProbes = {{
    {Algorithm::kRecursiveDoubling, kNextToNothing},
    {Algorithm::kRecursiveDoubling, Tuning::kMeasuredBytes[1]},
    {Algorithm::kHalvingDoubling, Tuning::kMeasuredBytes[1]},
    {Algorithm::kRecursiveDoubling, Tuning::kMeasuredBytes[2]},
    {Algorithm::kHalvingDoubling, Tuning::kMeasuredBytes[2]},
    {Algorithm::kRing, Tuning::kMeasuredBytes[1]},
    {Algorithm::kRing, Tuning::kMeasuredBytes[2]},
    {Algorithm::kTree, Tuning::kMeasuredBytes[1]},
    {Algorithm::kTree, Tuning::kMeasuredBytes[2]},
    {Algorithm::kRecursiveDoubling, Tuning::kMeasuredBytes[0]},
    {Algorithm::kHalvingDoubling, Tuning::kMeasuredBytes[0]},
    {Algorithm::kRing, Tuning::kMeasuredBytes[0]},
    {Algorithm::kTree, Tuning::kMeasuredBytes[0]},
    {Algorithm::kPairwise, kNextToNothing, Collective::kAllToAll},
}};
constexpr size_t kEquations = 5;  // the first
constexpr size_t kLargest = 3;    // the one that sends most
constexpr size_t kRing = 6;       // the kind that says what a byte takes in a ring
constexpr size_t kExchange = TuningFit::kKinds - 1;  // and what messages take that leave at once
// The first of a kind make connections and windows grow.
constexpr size_t kWarmUps = 3;
// What no network is beyond.
constexpr double kLeastPsPerByte = 10;
constexpr double kMostPsPerByte = 1e6;
constexpr double kLeastLatencyNs = 100;
constexpr double kMostLatencyNs = 1e9;

uint32_t ps_per_byte(double ns_per_byte) {
  return static_cast<uint32_t>(std::clamp(ns_per_byte * 1e3, kLeastPsPerByte, kMostPsPerByte));
}

// The mean of the two that follow each other and took least: where programs still begin, most calls
// wait for a core. By how much this rank comes later than its peer, one is shorter and the next
// longer.
double shortest_pair(const std::array<Nanos, TuningFit::kRounds - kWarmUps>& rounds) {
  Nanos shortest = rounds[0] + rounds[1];
  for (size_t i = 2; i < rounds.size(); ++i) {
    shortest = std::min(shortest, rounds[i - 1] + rounds[i]);
  }
  return static_cast<double>(shortest.count) / 2;
}

}  // namespace

TuningFit::Probe TuningFit::probe(size_t index) { return kKindsOfProbes[index / kRounds]; }

size_t TuningFit::probes(uint32_t size) {
  return size > 2 && size <= kMostExchanging ? kMostProbes : kExchange * kRounds;
}

double TuningFit::typical_ns(size_t kind) const {
  std::array<Nanos, kRounds - kWarmUps> sorted;
  std::copy_n(took_.begin() + static_cast<int64_t>(kind * kRounds + kWarmUps), sorted.size(),
              sorted.begin());
  if (kKindsOfProbes[kind].bytes == kNextToNothing) return shortest_pair(sorted);
  // Not the shortest: where this rank came last, the others had done their part before it began,
  // and the more work a call is for ranks that share cores, the more of it that hides.
  const auto middle = sorted.begin() + sorted.size() / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return static_cast<double>(middle->count);
}

// The first kind gives the latency of a small message. The next are equations in the latency of a
// large one and the time of a byte; the least squares of the relative errors solves them. Around
// these sizes one algorithm overtakes the other. The ring has a time of a byte of its own.
Tuning TuningFit::fitted(const Tuning& start, uint32_t size) const {
  Tuning tuning = start;
  if (size < 2) return tuning;
  if (reduce_ps_per_byte_ > 0) {
    tuning.reduce_ps_per_byte =
        static_cast<uint32_t>(std::min<uint64_t>(reduce_ps_per_byte_, 100'000));
  }
  const double small =
      std::clamp(equation(0, tuning, size, 0).time_ns / equation(0, tuning, size, 0).messages,
                 kLeastLatencyNs, kMostLatencyNs);
  double mm = 0, ms = 0, ss = 0, mt = 0, st = 0;  // sums of products: messages, bytes sent, time
  for (size_t kind = 1; kind < kEquations; ++kind) {
    const Equation one = equation(kind, tuning, size, small);
    const double m = one.messages / one.took_ns;
    const double s = one.sent / one.took_ns;
    const double t = one.time_ns / one.took_ns;
    mm += m * m;
    ms += m * s;
    ss += s * s;
    mt += m * t;
    st += s * t;
  }
  const double determinant = mm * ss - ms * ms;
  double large = small;
  if (determinant > mm * ss / 1000) large = (mt * ss - st * ms) / determinant;
  large = std::min(std::clamp(large, small, 20 * small), kMostLatencyNs);
  const double byte_ns = (st - large * ms) / ss;
  if (can_be_told(byte_ns, equation(kLargest, tuning, size, small))) {
    tuning.send_ps_per_byte = ps_per_byte(byte_ns);
  } else {
    large = std::max(small, static_cast<double>(start.large_latency_ns));
  }
  tuning.latency_ns = static_cast<uint32_t>(small);
  tuning.large_latency_ns = static_cast<uint32_t>(large);
  const Equation ring = equation(kRing, tuning, size, small);
  const double ring_byte_ns = ring.time_ns / ring.sent;  // its messages wait for no grant
  // No neighbour is farther away than the others: what a ring took beyond theirs was chance, and
  // would have large data go by algorithms that send more of it.
  tuning.ring_ps_per_byte = tuning.send_ps_per_byte;
  if (can_be_told(ring_byte_ns, ring)) {
    tuning.ring_ps_per_byte = std::min(tuning.send_ps_per_byte, ps_per_byte(ring_byte_ns));
  }
  fit_following(tuning, size);
  correct(tuning, size);
  return tuning;
}

// Whether bytes take a part of a call's time that is more than chance. Where the ranks' cores were
// busy it was latency alone, a byte took next to nothing, and large data went by few messages.
bool TuningFit::can_be_told(double byte_ns, const Equation& call) {
  constexpr double kLeastPart = 0.05;
  return byte_ns * call.sent >= kLeastPart * call.took_ns;
}

// What an exchange of next to nothing takes beyond the first message's latency. It is no more than
// that latency: sent one after the other they would take as long. What was not measured is taken
// for a quarter of it.
void TuningFit::fit_following(Tuning& tuning, uint32_t size) const {
  const auto latency = static_cast<double>(tuning.latency_ns);
  double following = latency / 4;
  if (probes(size) == kMostProbes) {
    following = std::clamp((typical_ns(kExchange) - latency) / (size - 2), 1.0, latency);
  }
  tuning.following_ns = static_cast<uint32_t>(following);
}

// Where two numbers cannot say what all kinds took, each algorithm has what it took.
void TuningFit::correct(Tuning& tuning, uint32_t size) const {
  constexpr double kMost = 8;  // more is no property of an algorithm
  for (size_t kind = 1; kind < kExchange; ++kind) {
    const Probe& probe = kKindsOfProbes[kind];
    const auto* const size_of =
        std::find(Tuning::kMeasuredBytes.begin(), Tuning::kMeasuredBytes.end(), probe.bytes);
    const auto at = static_cast<size_t>(size_of - Tuning::kMeasuredBytes.begin());
    const auto said = static_cast<double>(
        tuning.cost_ns(Collective::kAllReduce, probe.algorithm, size, probe.bytes));
    const double beside = std::clamp(typical_ns(kind) / std::max(said, 1.0), 1 / kMost, kMost);
    tuning.all_reduces[static_cast<size_t>(probe.algorithm)][at] =
        static_cast<uint16_t>(beside * Tuning::kAsSaid);
  }
}

// What a kind of probe says of large messages: messages * latency + sent * time of a byte = time.
// The known part, small messages and the reduction, is taken off the time.
TuningFit::Equation TuningFit::equation(size_t kind, const Tuning& tuning, uint32_t size,
                                        double small_ns) const {
  const Probe& probe = kKindsOfProbes[kind];
  const Work work = work_of(Collective::kAllReduce, probe.algorithm, size, probe.bytes);
  const auto messages = static_cast<double>(work.messages);
  const bool is_small = kind > 0 && !work.waits_for_grants();
  Equation equation;
  equation.took_ns = std::max(typical_ns(kind), 1.0);
  equation.messages = is_small ? 0 : messages;
  equation.sent = static_cast<double>(work.sent);
  const double reducing = static_cast<double>(work.reduced) * tuning.reduce_ps_per_byte / 1e3;
  const double known = reducing + (is_small ? messages * small_ns : 0);
  equation.time_ns = std::max(equation.took_ns - known, 0.0);
  return equation;
}

}  // namespace heddle::collectives
