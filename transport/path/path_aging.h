// PathAging: how old the samples of a path are, counted in phases of a few round trips.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/nanos.h"
#include "transport/params.h"

namespace heddle::transport {

class PathAging {
 public:
  // `trip`: the smoothed round trip over all paths.
  void open(Nanos now, Nanos trip) { phase_until_ = now + length(trip); }

  uint8_t phase() const { return phase_; }
  // Phases since `sampled_in`.
  uint8_t age(uint8_t sampled_in) const { return static_cast<uint8_t>(phase_ - sampled_in); }
  bool stale(uint8_t sampled_in) const { return age(sampled_in) >= params::kStaleAge; }

  void advance(Nanos now, Nanos trip) {
    if (now < phase_until_) return;
    const Nanos phase = length(trip);
    const int64_t passed = std::min((now - phase_until_) / phase, params::kMostPhases - 1) + 1;
    phase_ = static_cast<uint8_t>(phase_ + passed);
    phase_until_ = now + phase;
  }
  // All samples so far become stale.
  void expire() { phase_ = static_cast<uint8_t>(phase_ + params::kStaleAge); }

 private:
  static Nanos length(Nanos trip) {
    return std::max(params::kPhaseTrips * trip, params::kShortestPhase);
  }

  Nanos phase_until_;
  uint8_t phase_ = 0;
};

}  // namespace heddle::transport
