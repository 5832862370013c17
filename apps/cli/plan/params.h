// Constants of judgement of `heddle plan` and `heddle plan advise`, by the file that uses them:
// unit, source, range. Those of planning and advice themselves are in planner/params.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"

namespace heddle::cli::params::plan {

// --- changes that are simulated (advise/) ---

// Runs of a step after each other, of which the median counts. Chosen: the first one warms
// congestion control up. Range: 1 to 15.
inline constexpr uint32_t kStepsSimulated = 3;
// Events of a simulation between two looks for a signal. Chosen: some 0.1 s. Range: 10^4 to 10^6.
inline constexpr uint64_t kEventsAtOnce = 100'000;
// Seeds after which a change that costs is given no more of them, and what it must cost, as a share
// of a step. Chosen. Range: 1 to 5; -0.1 to -0.005.
inline constexpr size_t kScreeningSeeds = 2;
inline constexpr double kScreeningCost = -0.02;
// With a larger share of pairs of ranks that a plan does not fit, a step is one of adaptive paths
// rather than of planned ones. Chosen: as much payload as a connection may lack of its plan
// (engine/route_plan.h). Range: 0.05 to 0.3.
inline constexpr double kMostMisfits = 0.1;
// Paths of a connection, where they are planned. Chosen: the default of `heddle plan`. Range: 16 to
// 256.
inline constexpr uint16_t kPlannedPaths = 64;
// Splits of tensor and pipeline parallelism that are simulated, those of the shortest step by the
// model. Chosen: each is a simulation. Range: 1 to 10.
inline constexpr size_t kMostSplits = 3;
// Swaps of ranks that an order may need. Chosen: bounds the time. Range: 16 to 1,024.
inline constexpr uint32_t kMostSwaps = 64;

// --- trials in a lab (advise/trial.cc, advise/slowed_fabric.cc) ---

// What namespaces of a machine with two cores carry beside the ranks, bit/s (bench/run beside_lab).
// Chosen. Range: 0.5e9 to 8e9.
inline constexpr double kCarriedBits_per_s = 2e9;
// Between two looks for the end of a run, us. Chosen. Range: 1,000 to 100,000.
inline constexpr unsigned kPollEvery_us = 10'000;
// Of all steps together, s; opening connections and starting processes come on top. Chosen: what a
// user waits for. Range: 60 to 3,600.
inline constexpr double kLongestTrial_s = 600;

// --- demands and orders (demand_sources.cc, rank_report.cc) ---

// Names in an error or a note. Chosen. Range: 2 to 32.
inline constexpr size_t kMostNamed = 8;
// Bytes of the largest simulated flow; the time of larger ones grows with their size. Chosen: 1,000
// packets of 4 KB. Range: 10^6 to 10^8.
inline constexpr uint64_t kLargestFlow = 4'000'000;

// --- plans that are kept, and leases (keep_command.cc, lease_command.cc) ---

// Between two looks for a signal, ms. Chosen. Range: 10 to 1,000.
inline constexpr int kLook_ms = 100;
// Bytes of a line; a longer one is no change. Chosen. Range: 1,024 to 65,536.
inline constexpr size_t kLongestLine = 4096;
// Between two files while lines come faster than they are applied. Chosen. Range: 100 ms to 1 s.
inline constexpr Nanos kWriteEvery = millis(200);
// For what is done to a lease at its end. Chosen: above the longest wait for a store's lock. Range:
// 10 to 60 s.
inline constexpr Nanos kMostEnd = seconds(15);

}  // namespace heddle::cli::params::plan
