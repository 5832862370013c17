// Constants of judgement of `heddle sim`, by the file that uses them: unit, source, range. Those of
// the simulated network are in simulator/params.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/nanos.h"
#include "base/units.h"

namespace heddle::cli::params::sim {

// --- a run (sim_command.cc, trace.cc) ---

// Events between two looks for a signal. Chosen: some 0.1 s. Range: 10^4 to 10^6.
inline constexpr uint64_t kEventsAtOnce = 200'000;
// The shortest bin of a series. Chosen: a packet of 1,250 bytes at 100 Gb/s. Range: 10 ns to 10 us.
inline constexpr Nanos kShortestBin = nanos(100);
// Size of a process's recording; memory of each file is taken as it is needed. Chosen: as a job's.
// Range: 4 MiB to 1 GiB.
inline constexpr Bytes kMostOfAProcess = mebibytes(64);
// Files that this process has open besides recordings. Chosen. Range: 16 to
// 1,024.
inline constexpr uint64_t kOtherFiles = 64;

// --- the text (links.cc) ---

// Links that are printed. Chosen. Range: 3 to 20.
inline constexpr size_t kTextLinks = 5;
// Columns of a link's name, and of its strip over time. Chosen: a line fits 100 columns. Range: 12
// to 40; 30 to 120.
inline constexpr size_t kNameColumns = 24;
inline constexpr size_t kChartColumns = 60;

// --- the document (links.cc, report.cc, unevenness.cc) ---

// Links of a list, rows of a table of shares, links that have a series, and directions of links
// that have counters. Chosen: bound the document. Range: 4 to 256; 4 to 256; 64 to 65,536; 1,024 to
// 2^20.
inline constexpr size_t kJsonLinks = 16;
inline constexpr size_t kJsonRows = 16;
inline constexpr size_t kSeriesLinks = 1'024;
inline constexpr size_t kJsonCounters = 65'536;

// --- the page (page.cc, page_jobs.cc) ---

// Links, slow flows, completion times, steps of a job (the first of more) and rows of calls alike.
// Chosen: what a browser shows without delay. Range: a factor of 10 either way.
inline constexpr size_t kMostLinks = 512;
inline constexpr size_t kMostSlow = 200;
inline constexpr size_t kMostTimes = 4'096;
inline constexpr size_t kMostSteps = 4'096;
inline constexpr size_t kMostCalls = 256;

// --- sweeps (sweep_command.cc, sweep/) ---

// Runs of a sweep. Chosen: a line of results each. Range: 1,000 to 10^6.
inline constexpr size_t kMostRuns = 100'000;
// Between two looks for runs that have ended, us. Chosen. Range: 1,000 to 100,000.
inline constexpr unsigned kLookEvery_us = 10'000;

}  // namespace heddle::cli::params::sim
