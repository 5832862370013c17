// Sizes, counts and factors are nccl-tests'.
#include "apps/cli/bench/bench_plan.h"

#include <gtest/gtest.h>

namespace heddle::cli {
namespace {

using collectives::Collective;
using collectives::DataType;

std::vector<uint64_t> sizes_of(const std::string& begin, const std::string& end, uint32_t factor,
                               const std::string& step = "1M") {
  BenchOptions options{.begin = begin, .end = end, .step = step, .factor = factor};
  const Result<BenchPlan> plan = plan_bench(options, 2);
  EXPECT_TRUE(plan.has_value()) << plan.error().message();
  return plan ? plan->sizes : std::vector<uint64_t>();
}

TEST(BenchPlan, SizesGrowByAFactorOrByASum) {
  EXPECT_EQ(sizes_of("8", "100", 2), (std::vector<uint64_t>{8, 16, 32, 64}));
  EXPECT_EQ(sizes_of("1K", "3K", 1, "1K"), (std::vector<uint64_t>{1024, 2048, 3072}));
  EXPECT_EQ(sizes_of("32M", "32M", 1), (std::vector<uint64_t>{32 << 20}));
  EXPECT_EQ(sizes_of("0", "0", 1), (std::vector<uint64_t>{0}));
}

TEST(BenchPlan, ImpossibleOptionsAreRefused) {
  const auto refused = [](BenchOptions options) {
    const Result<BenchPlan> plan = plan_bench(options, 4);
    return !plan && plan.error().code == ErrorCode::kInvalid;
  };
  EXPECT_TRUE(refused({.test = "sum"}));
  EXPECT_TRUE(refused({.begin = "2M", .end = "1M"}));
  EXPECT_TRUE(refused({.begin = "0", .end = "1M", .factor = 2}));
  EXPECT_TRUE(refused({.begin = "8", .end = "1G", .step = "0"}));
  EXPECT_TRUE(refused({.begin = "8", .end = "1G", .step = "8"}));
  EXPECT_TRUE(refused({.end = "1024G"}));
  EXPECT_TRUE(refused({.iterations = 0}));
  EXPECT_TRUE(refused({.skip = 1}));
  EXPECT_TRUE(refused({.iterations = 5, .each_call = true, .skip = 5}));
  EXPECT_FALSE(refused({.iterations = 5, .each_call = true, .skip = 4}));
  EXPECT_TRUE(refused({.op = "xor"}));
  EXPECT_TRUE(refused({.type = "quad"}));
  EXPECT_TRUE(refused({.root = 4}));
}

TEST(BenchPlan, AllRunsEveryTest) {
  EXPECT_EQ(plan_bench({.test = "all"}, 2)->tests.size(), 9U);
  EXPECT_EQ(plan_bench({.test = "sendrecv"}, 2)->tests.size(), 1U);
}

TEST(BenchPlan, ASizeIsAllOfACallsDataOrABlockOfEachRank) {
  EXPECT_EQ(bench_count(Collective::kAllReduce, 1000, DataType::kFloat32, 4), 250U);
  EXPECT_EQ(bench_count(Collective::kAllGather, 1000, DataType::kFloat32, 4), 62U);
  EXPECT_EQ(bench_bytes(Collective::kAllGather, 62, DataType::kFloat32, 4), 992U);
  EXPECT_EQ(bench_count(Collective::kBroadcast, 9, DataType::kFloat64, 4), 1U);
}

}  // namespace
}  // namespace heddle::cli
