// Host cover: the fewest hosts that are in all of some pairs, so that without them no pair is left
// (a minimum vertex cover). A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "acceptance/fabric_bounds.h"

namespace heddle::acceptance {

struct HostCover {
  std::vector<uint32_t> hosts;  // in the order in which they were chosen
  bool least = true;            // no other cover has fewer
};

// Exact where the pairs are of at most `most_exact` hosts, by branch and bound. Of more, the host
// in most pairs is chosen first, which may be more hosts than needed. A host in a pair with itself
// is in every cover.
HostCover cover_of(const std::vector<HostPair>& pairs, size_t most_exact);

}  // namespace heddle::acceptance
