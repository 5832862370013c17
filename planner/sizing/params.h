// Constants of judgement of sizing: unit, source, range. What tables and papers give is named with
// its place there; "recalled": not compared with its text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::planner::params::sizing {

// --- shares that hardware reaches (step_time.h) ---

// What a transformer layer's kernels reach of the best matrix product. From one measurement, not
// from the rows that `heddle size --validate` compares: 19.6 ms forward and backward of a layer of
// 22B parameters on 8 A100 (Korthikanti et al., arXiv 2205.05198, table 4), of which the formulas
// give 2.8 ms to its all-reduces; 2.938e12 operations in 16.8 ms are 175 of 271.2 TFLOP/s. Range:
// 0.5 to 0.8.
inline constexpr double kKernelShare = 0.65;
// What one copy between two GPUs reaches of NVLink's rate: 376 of 450 GB/s (H100) and 746 of 900
// (GB200), p2pBandwidthLatencyTest (stas00/ml-engineering, network). Range: 0.75 to 0.92 (A100).
inline constexpr double kNvlinkShare = 0.83;

// --- advice (cluster_needs.h) ---

// Shares above which advice names the cause, as that of the pipeline's bubble: round trips between
// sites, of the computation beside them; and the last bucket, of a step. Chosen: a tenth of a step
// is worth another layout. Range: 0.02 to 0.3.
inline constexpr double kLongWait = 0.1;
inline constexpr double kLongBucket = 0.1;

// --- sites (size_sites.h) ---

// Watts that a GPU takes besides itself: its share of the host, NICs and fans of a DGX H100, whose
// 8 GPUs of 700 W are in a system of at most 10.2 kW (NVIDIA data sheet). Range: 300 to 800.
inline constexpr double kHostWatts = 10'200.0 / 8 - 700;
// Power of the building over that of the hosts. Chosen: between new halls with liquid cooling, 1.1,
// and the average of 1.56 (Uptime Institute, Global Data Center Survey 2024, recalled). Range: 1.05
// to 1.6.
inline constexpr double kPue = 1.2;
// Sites of a question. Chosen: a table of them fits a page. Range: 8 to 1,024.
inline constexpr size_t kMostSites = 64;

// --- models and clusters (model_check.h, presets.h) ---

// Parameters of a model. The largest public models have a thousandth of it. The number of
// parameters is the sum of all products of sizes, so that below it none of them overflows. Range:
// 2^44 to 2^56.
inline constexpr double kMostParameters = uint64_t{1} << 50;
// One size of a model: layers, heads, vocabulary. Chosen: vocabularies have below 1,000,000. Range:
// 10^6 to 10^9.
inline constexpr uint64_t kLargestSize = 10'000'000;
// GPUs of a node. Chosen: racks with one NVLink domain have 72. Range: 72 to 65,536.
inline constexpr double kMostGpusPerNode = 1024;
// TFLOP/s, GB/s, Gb/s and GiB of a preset: beyond what is built, and products of it are finite.
// Chosen. Range: 10^7 to 10^12.
inline constexpr double kMostOfAll = 1e9;

}  // namespace heddle::planner::params::sizing
