// BenchPlan: which collectives `heddle bench` runs at which sizes, and what nccl-tests counts as
// the size and the bus bandwidth of each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "collectives/collective.h"
#include "collectives/data_type.h"
#include "launch/plan.h"

namespace heddle::cli {

// A collective; kSend stands for sendrecv: each sends to the next and receives from the one before.
struct BenchTest {
  std::string name;  // "allreduce"
  collectives::Collective collective = collectives::Collective::kAllReduce;
};

struct BenchOptions {
  std::string test = "allreduce";
  std::string begin = "32M";
  std::string end = "32M";
  std::string step = "1M";
  uint32_t factor = 1;  // 1: steps are added
  uint32_t iterations = 20;
  uint32_t warmup = 1;
  uint32_t check = 1;
  std::string op = "sum";
  std::string type = "float";
  uint32_t root = 0;
  uint32_t average = 1;    // of ranks' times: rank 0's, the mean, the least, the most
  uint32_t blocking = 1;   // for nccl-tests' scripts: calls on the same memory cannot overlap
  bool each_call = false;  // single calls are timed too
  uint32_t skip = 0;       // first calls that their statistics leave out
  std::string json_file;
  std::string plot_file;
  bool json = false;           // the document of json_file, to standard output
  launch::PlacesAsked places;  // of ranks to be started; none: a launcher starts them
};

struct BenchPlan {
  std::vector<BenchTest> tests;
  std::vector<uint64_t> sizes;  // bytes
  uint64_t begin_bytes = 0;     // as asked for
  uint64_t end_bytes = 0;
  uint64_t step_bytes = 0;
  collectives::ReduceOp op = collectives::ReduceOp::kSum;
  collectives::DataType type = collectives::DataType::kFloat32;
};

// "allreduce", ... and "all".
std::vector<std::string> bench_test_names();

// Errors: kInvalid, naming what cannot be.
Result<BenchPlan> plan_bench(const BenchOptions& options, uint32_t ranks);

// Elements that a call's `count` says for a size, rounded down.
uint64_t bench_count(collectives::Collective collective, uint64_t bytes, collectives::DataType type,
                     uint32_t ranks);
// The size that is shown for a count.
uint64_t bench_bytes(collectives::Collective collective, uint64_t count, collectives::DataType type,
                     uint32_t ranks);

bool bench_reduces(collectives::Collective collective);
bool bench_has_root(collectives::Collective collective);

}  // namespace heddle::cli
