// Constants of judgement of `heddle size`, by the file that uses them: unit, source, range. Those
// of the calculation are in planner/sizing/params.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::cli::params::size {

// --- bounds on the command line (job_options.cc, cluster_options.cc, sites_command.cc ...) ---

// Ranks of a kind of parallelism and GPUs of a node, GPUs of a job, sequences of a step, tokens of
// a sequence, sequences of a microbatch. Chosen: beyond what is built, and no product of them
// overflows. Range: a factor of 10 either way.
inline constexpr uint64_t kMostRanks = 10'000;
inline constexpr uint64_t kMostGpus = 1'000'000;
inline constexpr uint64_t kMostSequences = 1'000'000'000;
inline constexpr uint64_t kLongestSequence = 100'000'000;
inline constexpr uint64_t kLargestMicrobatch = 1'000;
// Parameters of a model. Chosen: a thousand times the largest public ones. Range: 10^13 to 10^16.
inline constexpr uint64_t kMostParameters = 1'000'000'000'000'000;
// Bytes of an optimizer's states for a parameter. Chosen: four times those of Adam with all copies.
// Range: 16 to 256.
inline constexpr double kMostOptimizerBytes = 64;
// Messages of a queue pair that are not acknowledged, and queue pairs. Chosen: beyond what NICs
// have. Range: 10^4 to 10^8.
inline constexpr double kMostOutstanding = 1e6;
// Sites: as those of a question (planner/sizing/params.h). Range: 8 to 1,024.
inline constexpr size_t kMostSites = 64;
// Of a kWh or of an hour of a GPU, in any currency. Chosen. Range: 10^6 to 10^12.
inline constexpr double kMostPrice = 1e9;

// --- reports (report_command.cc, sheet.h, sheet.cc, sheet_report.cc) ---

// How far a simulated baseline may be off the recorded step, per cent. Chosen: above the spread of
// steps. Range: 5 to 30.
inline constexpr uint32_t kBoundPercent = 15;
// A step of the baseline may differ from the recorded one by this share, at least. Chosen: the
// spread of a quiet job's steps, as kLeastExposed of planner/params.h. Range: 0.01 to 0.05.
inline constexpr double kLeastSpread = 0.02;
// Seconds of CPU for a GB of payload, of both ends together: of UDP at an MTU of 1500 (`bench/run
// p2p`; docs/performance.md). `heddle perf` measures that of two hosts. Range: 0.05 to 1.
inline constexpr double kCpuPerGbyte_s = 0.33;
// Columns of a sheet's lines. Chosen: a page in print. Range: 80 to 160.
inline constexpr size_t kColumns = 110;

// --- captures (capture_report.cc) ---

// Rows of a histogram, and letters of its longest bar. Chosen: with numbers a line fits 80 columns.
// Range: 6 to 24; 20 to 50.
inline constexpr size_t kMostRows = 12;
inline constexpr double kBarCharacters = 30;

}  // namespace heddle::cli::params::size
