// What `heddle bench` shows: nccl-tests' table. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "apps/cli/bench/iteration_times.h"

namespace heddle::cli {

// Of one size, out of place or in place.
struct BenchTiming {
  double time_us = 0;  // a call, the mean over iterations and ranks
  double algbw_gbytes_per_s = 0;
  double busbw_gbytes_per_s = 0;
  std::optional<uint64_t> wrong;  // elements, over all ranks; nothing where it was not checked
  IterationTimes iterations;      // of single calls; empty unless they were timed
};

struct BenchRow {
  std::string test;
  uint64_t bytes = 0;
  uint64_t count = 0;
  std::string type;
  std::string op;     // "none" where nothing is reduced
  int64_t root = -1;  // -1: none
  std::string algorithm;
  std::optional<BenchTiming> out_of_place;
  std::optional<BenchTiming> in_place;
};

// `each_call`: four columns more on each side, of single calls' times.
std::string bench_head(const std::string& test, uint32_t ranks, bool each_call = false);
std::string bench_line(const BenchRow& row, bool each_call = false);
// Sums over rows, so that a run of any length needs no memory for them.
class BenchTotals {
 public:
  void add(const BenchRow& row);

  uint64_t wrong() const { return wrong_; }  // elements
  double average_bus_bandwidth() const;      // GB/s, over both halves of all rows; 0 without rows

 private:
  uint64_t wrong_ = 0;
  double bus_gbytes_per_s_ = 0;
  uint64_t timings_ = 0;
};

BenchTotals totals_of(std::span<const BenchRow> rows);
std::string bench_foot(const BenchTotals& totals);

}  // namespace heddle::cli
