// TuningFit: see tuning_fit.h.
#include "collectives/tuning_fit.h"

#include <algorithm>

namespace heddle::collectives {
namespace {

constexpr std::array<TuningFit::Probe, TuningFit::kKinds> kKindsOfProbes = {{
    {Algorithm::kRecursiveDoubling, 8},
    {Algorithm::kRecursiveDoubling, 64 << 10},
    {Algorithm::kHalvingDoubling, 64 << 10},
    {Algorithm::kRecursiveDoubling, TuningFit::kLargestBytes},
    {Algorithm::kHalvingDoubling, TuningFit::kLargestBytes},
}};
// The first of a kind make connections and windows grow.
constexpr size_t kWarmUps = 3;
// What no network is beyond.
constexpr double kLeastPsPerByte = 10;
constexpr double kMostPsPerByte = 1e6;
constexpr double kLeastLatencyNs = 100;
constexpr double kMostLatencyNs = 1e9;

}  // namespace

TuningFit::Probe TuningFit::probe(size_t index) { return kKindsOfProbes[index / kRounds]; }

double TuningFit::typical_ns(size_t kind) const {
  std::array<Nanos, kRounds - kWarmUps> sorted;
  std::copy_n(took_.begin() + static_cast<int64_t>(kind * kRounds + kWarmUps), sorted.size(),
              sorted.begin());
  std::sort(sorted.begin(), sorted.end());
  return static_cast<double>(sorted[sorted.size() / 2].count);
}

// The first kind gives the latency of a small message. The others are equations in the latency of a
// large one and the time of a byte; the least squares of the relative errors solves them. Around
// these sizes one algorithm overtakes the other.
Tuning TuningFit::fitted(const Tuning& start, uint32_t size) const {
  Tuning tuning = start;
  if (size < 2) return tuning;
  if (reduce_ps_per_byte_ > 0) {
    tuning.reduce_ps_per_byte =
        static_cast<uint32_t>(std::min<uint64_t>(reduce_ps_per_byte_, 100'000));
  }
  double small = 0;
  double mm = 0, ms = 0, ss = 0, mt = 0, st = 0;  // sums of products: messages, bytes sent, time
  for (size_t kind = 0; kind < kKinds; ++kind) {
    const Probe& probe = kKindsOfProbes[kind];
    const Work work = work_of(Collective::kAllReduce, probe.algorithm, size, probe.bytes);
    const double took = std::max(typical_ns(kind), 1.0);
    const double reducing =
        std::min(static_cast<double>(work.reduced) * tuning.reduce_ps_per_byte / 1e3, took);
    const auto messages = static_cast<double>(work.messages);
    if (kind == 0) {
      small = std::clamp(took / messages, kLeastLatencyNs, kMostLatencyNs);
      continue;
    }
    const bool is_small = work.sends_small_messages();
    const double m = is_small ? 0 : messages / took;
    const double s = static_cast<double>(work.sent) / took;
    const double t = (took - reducing - (is_small ? messages * small : 0)) / took;
    mm += m * m;
    ms += m * s;
    ss += s * s;
    mt += m * t;
    st += s * t;
  }
  const double determinant = mm * ss - ms * ms;
  double large = small;
  if (determinant > mm * ss / 1000) large = (mt * ss - st * ms) / determinant;
  large = std::clamp(large, small, 20 * small);
  const double byte_ps = (st - large * ms) / ss * 1e3;
  tuning.latency_ns = static_cast<uint32_t>(small);
  tuning.large_latency_ns = static_cast<uint32_t>(std::min(large, kMostLatencyNs));
  tuning.send_ps_per_byte =
      static_cast<uint32_t>(std::clamp(byte_ps, kLeastPsPerByte, kMostPsPerByte));
  return tuning;
}

}  // namespace heddle::collectives
