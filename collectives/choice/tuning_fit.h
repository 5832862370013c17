// TuningFit: fits the numbers of the tuning's model to what a few calls took between these ranks,
// and corrects it where it is still wrong at their sizes, so that the choice of algorithms follows
// this network and these cores. Pure: the communicator makes the calls and tells how long they
// took.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "collectives/tuning.h"

namespace heddle::collectives {

class TuningFit {
 public:
  // Calls on floats that all ranks make, one after the other. `bytes` as in Tuning::choose(), of an
  // all-to-all a block's.
  struct Probe {
    Algorithm algorithm = Algorithm::kRecursiveDoubling;
    uint64_t bytes = 0;
    Collective collective = Collective::kAllReduce;
  };
  static constexpr size_t kRounds = 10;
  static constexpr size_t kKinds = 14;
  static constexpr size_t kMostProbes = kRounds * kKinds;
  // The last kind is an all-to-all, which connects all; more ranks leave it out.
  static constexpr uint32_t kMostExchanging = 16;
  static size_t probes(uint32_t size);
  static constexpr uint64_t kLargestBytes = Tuning::kMeasuredBytes.back();
  static Probe probe(size_t index);

  void note(size_t index, Nanos took) { took_[index] = took; }
  // Of so many bytes reduced on this rank alone; zero: not known.
  void note_reduction(Nanos took, uint64_t bytes) {
    reduce_ps_per_byte_ = bytes == 0 ? 0 : static_cast<uint64_t>(took.count) * 1000 / bytes;
  }

  // `start` with the model's numbers as they are between `size` ranks; what cannot be told apart
  // keeps its value.
  Tuning fitted(const Tuning& start, uint32_t size) const;

 private:
  struct Equation {
    double messages = 0;
    double sent = 0;
    double time_ns = 0;
    double took_ns = 1;  // all of it
  };

  double typical_ns(size_t kind) const;
  static bool can_be_told(double byte_ns, const Equation& call);
  void fit_following(Tuning& tuning, uint32_t size) const;
  void correct(Tuning& tuning, uint32_t size) const;
  Equation equation(size_t kind, const Tuning& tuning, uint32_t size, double small_ns) const;

  std::array<Nanos, kMostProbes> took_{};
  uint64_t reduce_ps_per_byte_ = 0;
};

}  // namespace heddle::collectives
