// Patterns of flows between hosts: permutation, incast, all-to-all. Random choices use the
// generator that is passed in, so equal seeds give equal flows.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "topology/workload.h"

namespace heddle::topology {

// Parameters of all flows of a pattern. Their ids continue those of the workload.
struct PatternShape {
  Bytes bytes;  // of each flow
  Nanos start;
};

// Several hosts send to one.
struct Incast {
  uint32_t to = 0;
  uint32_t senders = 1;
};

// Each of `hosts` (at least two) sends to one other and receives from one other: one random cycle.
void add_permutation(Workload& workload, std::span<const uint32_t> hosts, const PatternShape& shape,
                     Random& random);

// The senders are at least one and at most all others of `hosts`, and chosen at random.
void add_incast(Workload& workload, std::span<const uint32_t> hosts, Incast incast,
                const PatternShape& shape, Random& random);

// Each of `hosts` (at least two) sends to each other one. `at_once`: the number of a host's flows
// in progress at a time; the next begins when one has arrived; 0: all at once. Host i begins with
// host i + 1, so that the first receivers all differ.
void add_all_to_all(Workload& workload, std::span<const uint32_t> hosts, uint32_t at_once,
                    const PatternShape& shape);

}  // namespace heddle::topology
