// Patterns of flows among hosts: permutation, incast, all-to-all. Random choices come from the
// generator that is handed in, so equal seeds give equal flows.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "topology/workload.h"

namespace heddle::topology {

// What all flows of a pattern have in common. Their ids follow those that the workload has.
struct PatternShape {
  Bytes bytes;  // of each flow
  Nanos start;
};

// Each of `hosts` (two at least) sends to one other and receives from one other: one random cycle.
void add_permutation(Workload& workload, std::span<const uint32_t> hosts, const PatternShape& shape,
                     Random& random);

// `senders` (one at least, and no more than there are others) of `hosts`, chosen at random, send to
// `to`.
void add_incast(Workload& workload, std::span<const uint32_t> hosts, uint32_t to, uint32_t senders,
                const PatternShape& shape, Random& random);

// Each of `hosts` (two at least) sends to each other. `at_once`: how many of a host's flows are
// under way together, the next beginning when one has arrived; 0: all. Host i begins with host
// i + 1, so that no receiver is everybody's first.
void add_all_to_all(Workload& workload, std::span<const uint32_t> hosts, uint32_t at_once,
                    const PatternShape& shape);

}  // namespace heddle::topology
