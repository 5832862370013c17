// Splitting: which of a communicator's ranks make another, computed alike by all of them: from what
// each has chosen, or from the ranks that are left after a failure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "collectives/call.h"
#include "collectives/members.h"
#include "collectives/membership/rank_set.h"

namespace heddle::collectives {

struct SplitChoice {
  int32_t colour = 0;  // negative: in no part
  int32_t key = 0;     // the order in the part
};

// The call by which all ranks learn what each has chosen. Both stay until it is done.
Call gather_choices(const SplitChoice& mine, std::span<SplitChoice> all);

// The part of `whole` that its rank is in, ordered by key and then by rank; nothing where its
// colour is negative. `split` counts the splits of `whole`.
std::optional<Members> part_of(const Members& whole, uint32_t split,
                               std::span<const SplitChoice> choices);

// The number of the communicator that follows `whole` after a failure, of any of its ranks.
uint64_t number_after(const Members& whole);
// That of `ranks`, which keep their order; the rank of `whole` is one of them.
Members survivors_of(const Members& whole, const RankSet& ranks);

}  // namespace heddle::collectives
