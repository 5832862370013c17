// Parameters of judgement of stragglers (insight/stragglers.h): each with where it comes from and
// its range. "The paper" is the one named there; "recalled": not compared with its text.
#pragma once

#include <cstdint>

namespace heddle::insight::params::stragglers {

// A job is slow from this ratio on. The paper, recalled. 1.03 to 1.3.
inline constexpr double kSlowFrom = 1.1;
// A cause explains a slowdown of which this part goes away without it. The paper, recalled; of its
// three traces the cause of two has 1.0 and 1.2, where it is none at most 0.04. 0.3 to 0.7.
inline constexpr double kExplains = 0.5;
// Percent of the workers that are the slowest ones. The programs published with the paper. 1 to 10.
inline constexpr uint32_t kSlowestPercent = 3;
// Sequences differ in length from this correlation on. The paper, recalled; of its trace with such
// sequences it is 0.99. 0.7 to 0.95.
inline constexpr double kLengthsCorrelate = 0.9;
// Stages, and data-parallel ranks: no job has as many. 10,000 to 1,000,000.
inline constexpr uint32_t kMostWorkers = 100'000;
// Operations in all replays of one kind: half a minute. Where each worker's replay would be more,
// workers are scored as the paper does, by rank and stage. 1e8 to 1e11.
inline constexpr uint64_t kMostReplayed = 4'000'000'000;

}  // namespace heddle::insight::params::stragglers
