// Constants of judgement of planning and advice, by the part that uses them: unit, source, range.
// Those of path planning are in paths/params.h, those of sizing in sizing/params.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::planner::params {

// --- advice (advice.h, job_changes.h, rank_order.h) ---

// Below this share of a step, what is exposed is too little to gain from. Chosen: the spread of a
// quiet job's steps. Range: 0.005 to 0.05.
inline constexpr double kLeastExposed = 0.02;
// A smaller mean gain, as a share of a step, counts as none. Chosen as above. Range: 0.001 to 0.02.
inline constexpr double kLeastGain = 0.005;
// A swap of ranks that saves a smaller part of the crossing traffic is not worth a restart. Chosen:
// below the spread of a job's steps. Range: 0 to 0.05.
inline constexpr double kLeastSwapGain = 0.001;
// Hosts whose order is improved. Chosen: bounds the time. Range: 256 to 65,536.
inline constexpr size_t kMostOrderedHosts = 4'096;
// Bytes from which on a blocking all-reduce of a job with one communicator counts as one of
// gradients. Chosen: above losses and flags, below the smallest bucket. Range: 1,024 to 1,048,576.
inline constexpr uint64_t kLeastGradientBytes = 16'384;
// Memory of a lossless port in round trips of its link. Chosen: beyond the headroom of PFC there is
// place for the queues that DCQCN's marks bound. Range: 2 to 32.
inline constexpr uint64_t kLosslessRoundTrips = 8;
// Marking of a lossless switch: DCQCN's K_min and K_max - K_min in bytes at this rate, and P_max in
// millionths (Zhu et al., SIGCOMM 2015, section 6). Range: 10e9 to 400e9 bit/s; 5e3 to 400e3;
// 50e3 to 2e6; 1,000 to 1,000,000.
inline constexpr double kMarkingRate = 40e9;
inline constexpr double kMarkFrom = 5e3;
inline constexpr double kMarkRamp = 195e3;
inline constexpr uint32_t kMarkPerMillion = 10'000;

// --- trials (decision.h) ---

// Steps of a trial at least: the sample size assumes a mean that is about normal. Chosen: the usual
// 30. Range: 10 to 100.
inline constexpr uint64_t kLeastTrialSteps = 30;
// More steps than this a trial need not have. Chosen: a week of steps of 0.6 s. Range: 1e5 to 1e7.
inline constexpr double kMostTrialSteps = 1e6;
// The part of a gain above which a trial of that length is not noise: 1.960 of 1.960 + 0.842, the
// quantiles of its errors. Range: follows from them.
inline constexpr double kSeenPart = 0.7;

// --- recorded steps (recorded_steps.h) ---

// At least this many equal steps are needed, without the first. Chosen: the median of three is not
// an outlier. Range: 2 to 20.
inline constexpr size_t kLeastSteps = 3;
// Steps that were found cover at least this part of all calls; the rest are those before the first
// step and after the last. Chosen. Range: 0.5 to 1.
inline constexpr double kLeastCovered = 0.8;
// Intervals of a link's counters whose mean is the level to begin with (link_forecast.h). Chosen:
// half of the least number of intervals. Range: 1 to 8.
inline constexpr size_t kFirstIntervals = 4;

}  // namespace heddle::planner::params
