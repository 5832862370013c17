// What `heddle bench` shows: nccl-tests' table, and a JSON document. Pure functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace heddle::cli {

// Of one size, out of place or in place.
struct BenchTiming {
  double time_us = 0;  // a call, the mean over iterations and ranks
  double algbw_gbytes_per_s = 0;
  double busbw_gbytes_per_s = 0;
  std::optional<uint64_t> wrong;  // elements, over all ranks; nothing where it was not checked
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

std::string bench_head(const std::string& test, uint32_t ranks);
std::string bench_line(const BenchRow& row);
// Over all rows.
std::string bench_foot(const std::vector<BenchRow>& rows);
uint64_t bench_wrong(const std::vector<BenchRow>& rows);
double bench_average(const std::vector<BenchRow>& rows);

nlohmann::ordered_json bench_document(const std::vector<BenchRow>& rows, uint32_t ranks);

}  // namespace heddle::cli
