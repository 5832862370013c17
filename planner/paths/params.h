// Constants of judgement of path planning: each with its unit, its source and the range in which it
// makes sense.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::planner::params {

// A placement this close to the lower bound is not improved further. Chosen: below what a
// simulation's transport makes of it. Range: 0.001 to 0.02.
inline constexpr double kTolerance = 0.002;
// Moves of improve() beyond one a unit. Chosen; it ends by itself long before. Range: any.
inline constexpr size_t kMostMoves = 10'000;
// Units that move so that one can. Chosen: alternating paths of colorings on 64 leaves are mostly
// shorter. Range: 2 to 16.
inline constexpr uint32_t kDeepestChain = 6;
// Routes that are looked at for one chain. Chosen: about a millisecond. Range: 1,000 to 100,000.
inline constexpr uint32_t kTriesOfChain = 8'000;
// Paths that a lane of a flow is spread over at most, unless the caller sets another number.
// Chosen: with 8, units are 1/8 of a flow, and rounding costs below 2%. Range: 1 to 64.
inline constexpr uint32_t kMostParts = 8;

}  // namespace heddle::planner::params
