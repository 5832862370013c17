// Rank lists for people: "rank 3", "ranks 1, 4-6", cut where they are long.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace heddle::collectives {

// `ranks` rise.
std::string rank_list(std::span<const uint32_t> ranks);

}  // namespace heddle::collectives
