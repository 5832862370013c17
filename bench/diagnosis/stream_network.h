// StreamNetwork: when the messages of a call arrive, for streams (stream.h): rings and exchanges of
// all with all, over links of which some are congested, lossy or slow.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "bench/diagnosis/fault_case.h"

namespace heddle::bench {

// Of what never happens; sums of it with other times are later still.
inline constexpr double kNoTime = std::numeric_limits<double>::infinity();

struct Arrival {
  uint32_t from = 0;
  uint32_t to = 0;
  double at = 0;
  double load = 1;  // its size beside the usual one
};

struct Transfer {
  std::vector<double> ended;  // by rank
  std::vector<Arrival> arrivals;
};

class StreamNetwork {
 public:
  // `job` outlives it.
  explicit StreamNetwork(const FaultCase& job) : job_(job) {}

  // The network's fault begins.
  void set_onset(double ns) { onset_ = ns; }
  // A rank's process stops: it starts no message from then on.
  void set_death(uint32_t rank, double ns) {
    dead_ = rank;
    death_ = ns;
  }

  // `rounds` times each rank sends to the next one what it has received in the round before.
  Transfer ring(uint64_t call, const std::vector<double>& started, uint32_t rounds);
  // In round s rank r sends to r + s and receives from r - s. `load` by rank scales its messages.
  Transfer exchange(uint64_t call, const std::vector<double>& started,
                    const std::vector<double>& load);
  // The time of one message at `at`, beside those of calls.
  double message_ns(uint64_t call, uint32_t from, uint32_t to, double at, double ns) const {
    return on_link_ns(call, 0, {from, to, at, 1}, ns);
  }
  // The same between hosts without noise and faults.
  static double quiet_message_ns(double ns);

 private:
  // A message's time on its link, from `at` on.
  double on_link_ns(uint64_t call, uint32_t round, const Arrival& message, double ns) const;
  double fault_factor(const Arrival& message) const;
  double end_of(uint32_t rank, double at) const {
    return rank == dead_ && at > death_ ? kNoTime : at;
  }

  const FaultCase& job_;
  double onset_ = kNoTime;
  uint32_t dead_ = UINT32_MAX;
  double death_ = kNoTime;
};

}  // namespace heddle::bench
