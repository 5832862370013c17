// The document of `heddle bench -J`: what nccl-tests writes with its option of that name (format
// version 3, its src/util.cu: the same keys, nesting, order and types of values), and after it one
// key of heddle's own, "heddle". Pure functions.
#pragma once

#include <cstdint>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/cli/bench/bench_plan.h"
#include "apps/cli/bench/bench_report.h"
#include "apps/cli/bench/bench_traffic.h"

namespace heddle::cli {

struct BenchRank {
  int64_t pid = 0;
  std::string host;
};

// How a run was started.
struct BenchRun {
  std::time_t began = 0;
  std::time_t ended = 0;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=value
  std::vector<BenchRank> ranks;
  BenchTraffic traffic;  // of all ranks
};

nlohmann::ordered_json bench_document(const BenchRun& run, const BenchOptions& options,
                                      const BenchPlan& plan, const std::vector<BenchRow>& rows);
// On one line. What is not UTF-8 (an argument, a variable) has replacement characters.
std::string bench_json_text(const nlohmann::ordered_json& document);

// A variable without its value where its name says that this is a secret.
std::string without_secret(const std::string& variable);

}  // namespace heddle::cli
