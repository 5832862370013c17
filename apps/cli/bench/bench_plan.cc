// BenchPlan: see bench_plan.h.
#include "apps/cli/bench/bench_plan.h"

#include <fmt/core.h>

#include <array>

#include "apps/cli/params.h"
#include "base/quantity.h"
#include "collectives/bus_bandwidth.h"

namespace heddle::cli {
namespace {

using collectives::Collective;

const std::array<BenchTest, 9> kTests = {{{"allreduce", Collective::kAllReduce},
                                          {"allgather", Collective::kAllGather},
                                          {"reducescatter", Collective::kReduceScatter},
                                          {"broadcast", Collective::kBroadcast},
                                          {"reduce", Collective::kReduce},
                                          {"alltoall", Collective::kAllToAll},
                                          {"sendrecv", Collective::kSend},
                                          {"gather", Collective::kGather},
                                          {"scatter", Collective::kScatter}}};

Result<void> plan_sizes(const BenchOptions& options, BenchPlan& plan) {
  const Result<Bytes> begin = parse_size(options.begin);
  if (!begin) return fail(begin.error());
  const Result<Bytes> end = parse_size(options.end);
  if (!end) return fail(end.error());
  const Result<Bytes> step = parse_size(options.step);
  if (!step) return fail(step.error());
  const std::string what = "cannot run from " + options.begin + " to " + options.end;
  if (end->count > params::bench::kMostBytes)
    return fail(ErrorCode::kInvalid, what, "64 GiB are the most");
  if (begin->count > end->count) {
    return fail(ErrorCode::kInvalid, what, "that is backwards", "give -b the smaller one");
  }
  if (options.factor == 0 || (options.factor == 1 && step->count == 0) ||
      (options.factor > 1 && begin->count == 0)) {
    return fail(ErrorCode::kInvalid, what, "the sizes would not grow",
                "give -f 2 and -b above 0, or -i above 0");
  }
  plan.begin_bytes = begin->count;
  plan.end_bytes = end->count;
  plan.step_bytes = step->count;
  for (uint64_t bytes = begin->count; bytes <= end->count;
       bytes = options.factor > 1 ? bytes * options.factor : bytes + step->count) {
    plan.sizes.push_back(bytes);
    if (plan.sizes.size() > params::bench::kMostSizes) {
      return fail(ErrorCode::kInvalid, what, "that would be more than 4096 sizes",
                  "give a larger -i or -f");
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> bench_test_names() {
  std::vector<std::string> names;
  for (const BenchTest& test : kTests) names.push_back(test.name);
  names.emplace_back("all");
  return names;
}

Result<BenchPlan> plan_bench(const BenchOptions& options, uint32_t ranks) {
  BenchPlan plan;
  for (const BenchTest& test : kTests) {
    if (options.test == "all" || options.test == test.name) plan.tests.push_back(test);
  }
  if (plan.tests.empty()) {
    std::string names = "all";
    for (const BenchTest& test : kTests) names += ", " + test.name;
    return fail(ErrorCode::kInvalid, fmt::format("cannot run the test '{}'", options.test),
                "there is none of this name", "choose from " + names);
  }
  const Result<collectives::ReduceOp> op = collectives::parse_reduce_op(options.op);
  if (!op) return fail(op.error());
  const Result<collectives::DataType> type = collectives::parse_data_type(options.type);
  if (!type) return fail(type.error());
  if (options.root >= ranks) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot use root {}", options.root),
                fmt::format("there are {} ranks, counted from 0", ranks));
  }
  if (options.iterations == 0) {
    return fail(ErrorCode::kInvalid, "cannot measure 0 iterations", "", "give -n 1 or more");
  }
  if (options.skip >= options.iterations || (options.skip > 0 && !options.each_call)) {
    return fail(ErrorCode::kInvalid, fmt::format("cannot leave out {} calls", options.skip),
                options.each_call ? fmt::format("{} are timed", options.iterations)
                                  : "single calls are not timed",
                "give -I 1, and -K below -n");
  }
  if (Result<void> sized = plan_sizes(options, plan); !sized) return fail(sized.error());
  plan.op = *op;
  plan.type = *type;
  return plan;
}

uint64_t bench_count(Collective collective, uint64_t bytes, collectives::DataType type,
                     uint32_t ranks) {
  return bytes / collectives::size_of(type) / (collectives::in_blocks(collective) ? ranks : 1);
}

uint64_t bench_bytes(Collective collective, uint64_t count, collectives::DataType type,
                     uint32_t ranks) {
  return count * collectives::size_of(type) * (collectives::in_blocks(collective) ? ranks : 1);
}

bool bench_reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}

bool bench_has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

}  // namespace heddle::cli
