// Splitting: which of a communicator's ranks make a part of it, computed alike by all of them from
// what each has chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "collectives/call.h"
#include "collectives/members.h"

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

}  // namespace heddle::collectives
