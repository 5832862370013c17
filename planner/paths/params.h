// Constants of judgement of path planning: each with its unit, its source and the range in which it
// makes sense.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::planner::params {

// Links of a route that is planned: three tiers have six. Range 8 to 32.
inline constexpr uint32_t kMostRouteLinks = 12;

// A placement this close to the lower bound is not improved further. Chosen: below what a
// simulation's transport makes of it. Range: 0.001 to 0.02.
inline constexpr double kTolerance = 0.002;
// Lanes of at most this part of the largest one's bytes do not count for a coloring, as barriers
// beside gradients; they fit in behind it. Range: 1e-4 to 0.05.
inline constexpr double kSmallLane = 0.01;
// Colors of a coloring, one for each uplink of a leaf. Chosen: beyond the ports of switches' chips
// that go up; a multiple of 64. Range: 64 to 1,024.
inline constexpr uint32_t kMostColors = 256;
// Lanes that move so that one can. Chosen: alternating paths of colorings on 64 leaves are mostly
// shorter. Range: 2 to 16.
inline constexpr uint32_t kDeepestChain = 6;
// Routes that are tried for one chain. Chosen: about a millisecond. Range: 1,000 to 100,000.
inline constexpr uint32_t kTriesOfChain = 8'000;
// Routes that are tried in all to make one route a lane enough: at least, and for each lane.
// Chosen: a millisecond, and a fraction of a second for 100,000 lanes; shares of several routes
// take over. Range: 10,000 to 1,000,000, and 10 to 1,000.
inline constexpr uint64_t kTriesOfPlacement = 50'000;
inline constexpr uint64_t kTriesOfLane = 100;
// Routes that a lane is spread over at most, unless the caller sets another number. Chosen: with 8
// of them shares still meet the bound on full Clos fabrics. Range: 1 to 64.
inline constexpr uint32_t kMostParts = 8;

// Lanes from which on those without common links are planned in groups, several at once. Chosen: a
// thread starts in less time than a thousand lanes take. Range: 1,000 to 100,000.
inline constexpr size_t kLeastGroupedLanes = 4'096;
// Groups at most, which several threads take one after another. Chosen: twice the rails of a host,
// so that threads end together. Range: 8 to 64.
inline constexpr size_t kMostLaneGroups = 16;

// Smaller shares of a lane are none. Chosen: 256 paths have 0.004 each. Range: 1e-5 to 1e-3.
inline constexpr float kLeastShare = 1e-4F;

// Exponent of a link's load over its goal in one step of prices, times the links of a route.
// Generalized iterative scaling converges with 1; with 2 loads swing for ever where a lane's two
// links carry the same lanes (a ring of leaves). Range: 0.5 to 1.9.
inline constexpr double kRelaxation = 1.5;
// Sweeps over all routes before some of them are drawn. Range: 0 to 50.
inline constexpr uint32_t kSweepsBeforeDraw = 6;
// Shares this close to the goal are not improved further: the last per cent takes most sweeps.
// Range: 0.001 to 0.02.
inline constexpr double kShareTolerance = 0.01;
// Sweeps of prices at most. Chosen: full Clos fabrics come within 2%, and 100,000 lanes take half a
// second. Range: 20 to 500.
inline constexpr uint32_t kMostSweeps = 32;
// Sweeps without a gain above the tolerance, after which the goal rises. Range: 4 to 20.
inline constexpr uint32_t kPatience_sweeps = 8;

// Intervals of counters without which nothing is forecast. Chosen: a backtest on half of them has
// three forecasts at least. Range: 6 to 100.
inline constexpr size_t kLeastIntervals = 8;
// Older ones are left out: their autocorrelation takes time by the square. Range: 500 to 20,000.
inline constexpr size_t kMostIntervals = 4'000;
// A forecast is the mean of this many intervals. Chosen: a plan holds for minutes, and counters are
// mostly read every 10 to 60 s. Range: 1 to 60.
inline constexpr size_t kForecastAhead = 6;
// Autocorrelation from which on a series counts as periodic, and by which a longer period must be
// better than a shorter one. Chosen: a period that explains half of the variance. Range: 0.3 to
// 0.8, and 0.02 to 0.2.
inline constexpr double kPeriodic = 0.5;
inline constexpr double kPeriodicGain = 0.05;

// Beside loads without a plan of which more than this share of the links' capacity is forecast
// wrong, a plan gains no more than spraying: bench/run plan --tenants. Range: 0.01 to 0.05.
inline constexpr double kMostUnknown = 0.02;

}  // namespace heddle::planner::params
