// Tuner: what a communicator's context is to NCCL. It applies the model to NCCL's table of costs
// and logs each choice once. tables.h calls it from the thread that enqueues a collective.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/config.h"
#include "nccl/measured_network.h"
#include "nccl/tuner_types.h"
#include "plugins/nccl/tuner/model.h"

namespace heddle::nccl {

class Tuner {
 public:
  Tuner(const MeasuredNetwork& network, const StepDelays& delays, const TunedGroup& group)
      : network_(network), delays_(delays), group_(group) {}

  // Raises costs and writes the number of channels, or leaves both: where the model does not know
  // a choice, and where arguments make no sense. `costs` may be null, `channels` too.
  void choose(const TunedCall& call, float* costs, int algorithms, int protocols, int* channels);
  // Halves `*chunk` where smaller chunks pass sooner; leaves it else. `chunk` may be null.
  void choose_chunk(int function, size_t bytes, int algorithm, int protocol, size_t* chunk);

 private:
  // By collective and power of two of the bytes: a bit for each algorithm and protocol that was
  // logged. What differs between two ranks' logs is seen in one place.
  using Logged = std::array<std::array<std::atomic<uint32_t>, 64>, kTunerFunctions>;
  static bool first(Logged& logged, int function, uint64_t bytes, int algorithm, int protocol);

  const MeasuredNetwork network_;
  const StepDelays delays_;
  const TunedGroup group_;
  Logged choices_{};
  Logged chunks_{};
};

// For init() of all versions. Logs what the tuner goes by, or why it leaves the choice to NCCL, and
// returns null there: it is off, has no figures, or the communicator is on one node.
// `net_latencies`: of the constants that version 5 and later pass, else null. Throws only
// std::bad_alloc.
using NetLatencies = const double (*)[kTunerAlgorithms][kTunerProtocols];
Tuner* make_tuner(const Config& config, const TunedGroup& group, NetLatencies net_latencies);

}  // namespace heddle::nccl
