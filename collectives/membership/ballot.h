// Ballot: the number of a proposal, and a set of ranks that one proposed.
#pragma once

#include <compare>
#include <cstdint>

#include "collectives/membership/rank_set.h"

namespace heddle::collectives {

// Zero: none.
struct Ballot {
  uint32_t round = 0;
  uint32_t leader = 0;
  auto operator<=>(const Ballot&) const = default;
};

struct ProposedSet {
  Ballot ballot;  // zero: none was proposed
  RankSet ranks;
  uint64_t newcomers = 0;  // that these ranks take in; 0: none
};

}  // namespace heddle::collectives
