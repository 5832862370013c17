// What `heddle bench` shows: nccl-tests' table. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
// Over all rows.
std::string bench_foot(const std::vector<BenchRow>& rows);
uint64_t bench_wrong(const std::vector<BenchRow>& rows);
double bench_average(const std::vector<BenchRow>& rows);

}  // namespace heddle::cli
