// Estimates: the time of a collective in closed form, from latency, bandwidth and the speed of
// reduction (Thakur, Rabenseifner and Gropp, 2005). For fabrics without measurements, and for sizes
// above the largest measured one.
#pragma once

#include <cstdint>

#include "collectives/collective.h"
#include "collectives/tuning.h"

namespace heddle::collectives {

// What an algorithm costs its busiest rank.
struct Work {
  uint64_t messages = 0;   // one after the other
  uint64_t following = 0;  // further ones that leave together with one of them
  uint64_t sent = 0;       // bytes
  uint64_t reduced = 0;    // bytes
  // Bytes that the link could carry while it is idle between the rounds of a call that is larger
  // than a small message: each round has another peer, whose window is small at first, and ranks
  // of different rounds meet at a receiver. A ring has none. Fitted to simulated fabrics without
  // loss (tests/e2e/sim_jobs_test.py).
  uint64_t idle = 0;
  bool granted_ahead = false;  // receives are posted before the data comes: no wait for a grant

  bool waits_for_grants() const;
};

// `bytes` as in Tuning::choose(); for at least two ranks. `group_ranks`: of kTwoLevel.
Work work_of(Collective collective, Algorithm algorithm, uint64_t ranks, uint64_t bytes,
             uint32_t group_ranks = 1);

// 0 of a single rank.
uint64_t estimated_ns(const Tuning& network, Collective collective, Algorithm algorithm,
                      uint32_t ranks, uint64_t bytes);

}  // namespace heddle::collectives
