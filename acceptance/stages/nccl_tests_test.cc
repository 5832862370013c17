// nccl-tests: what is read of a table of all_reduce_perf.
#include "acceptance/stages/nccl_tests.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "acceptance/stages/stages.h"
#include "acceptance/testing/scripted_fabric.h"

namespace heddle::acceptance {
namespace {

constexpr const char* kOutput =
    "# nThread 1 nGpus 1 minBytes 65536 maxBytes 524288 step: 8(factor) validation: 1\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us) "
    " (GB/s)  (GB/s)\n"
    "       65536         16384     float     sum      -1    80.00    0.82    1.43      0    79.00 "
    "   0.83    1.45      0\n"
    "      524288        131072     float     sum      -1   120.00    4.37    7.65      3   118.00 "
    "   4.44    7.77    N/A\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 4.57\n";

TEST(NcclTests, SizesAreThoseOfTheTable) {
  const std::vector<BenchSize> sizes = sizes_of_nccl_tests(kOutput);
  ASSERT_EQ(sizes.size(), 2U);
  EXPECT_EQ(sizes[0].bytes, 65'536U);
  EXPECT_EQ(sizes[0].count, 16'384U);
  EXPECT_EQ(sizes[0].type, "float");
  EXPECT_DOUBLE_EQ(sizes[1].time_us, 120);
  EXPECT_DOUBLE_EQ(sizes[1].algorithm_bits_per_s, 4.37 * 8e9);
  EXPECT_DOUBLE_EQ(sizes[1].bus_bits_per_s, 7.65 * 8e9);
  EXPECT_EQ(sizes[1].wrong, 3U);
  EXPECT_EQ(sizes[1].operation, "sum");
  EXPECT_EQ(sizes[1].root, "-1");
  EXPECT_EQ(sizes[1].wrong_out_of_place, 3U);
  ASSERT_TRUE(sizes[1].in_place);
  EXPECT_DOUBLE_EQ(sizes[1].in_place->time_us, 118);
  EXPECT_DOUBLE_EQ(sizes[1].in_place->bus_bits_per_s, 7.77 * 8e9);
  EXPECT_FALSE(sizes[1].in_place->wrong) << "it was not checked";
  EXPECT_EQ(sizes[0].in_place->wrong, 0U);
}

TEST(NcclTests, ASideThatIsMissingWasNotMeasured) {
  const auto sizes = sizes_of_nccl_tests("  8  2  float  sum  -1  80.00  0.82  1.43  0\n");
  ASSERT_EQ(sizes.size(), 1U);
  EXPECT_FALSE(sizes[0].in_place);
}

TEST(NcclTests, ATableWithoutEndHasABoundedNumberOfSizes) {
  std::string output;
  for (int i = 0; i < 1'000; ++i) {
    output += "65536 16384 " + std::string(1'000, 'x') + " sum -1 80.00 0.82 1.23 0\n";
  }
  const std::vector<BenchSize> sizes = sizes_of_nccl_tests(output);
  ASSERT_EQ(sizes.size(), 64U);
  EXPECT_LT(sizes[0].type.size(), 600U);
}

// Hosts with GPUs, whose all-reduces have the largest size that was asked for.
Answer with_gpus(const Asked& asked) {
  if (asked.is("sh")) return {"8\nall_reduce_perf\nmpirun\n"};
  Answer answer = healthy_answer(asked);
  if (asked.after("bench") == "allreduce") {
    Json document = Json::parse(answer.output);
    document["results"][0]["size"] = std::strtoull(asked.after("-e").c_str(), nullptr, 10);
    answer.output = document.dump();
  }
  return answer;
}

// Of the command line with `program` that has a factor: the sizes that it measures.
std::set<uint64_t> sizes_asked(const StageMade& made, const std::string& program) {
  std::set<uint64_t> sizes;
  for (const std::string& line : made.commands) {
    if (line.find(program) == std::string::npos || line.find(" -f ") == std::string::npos) continue;
    const auto number = [&](const char* option) {
      return std::strtoull(line.c_str() + line.find(option) + std::strlen(option), nullptr, 10);
    };
    const uint64_t largest = number(" -e ");
    for (uint64_t size = number(" -b "); size <= largest; size *= number(" -f ")) {
      sizes.insert(size);
    }
  }
  return sizes;
}

// Half of NCCL's rows had none of heddle beside them.
TEST(NcclTests, NcclsTableHasTheSizesOfHeddles) {
  ScriptedFabric fabric(scripted_leaf_spine(1));
  fabric.answer = with_gpus;
  std::set<size_t> counts;
  for (const Depth depth : {Depth::kQuick, Depth::kNormal, Depth::kFull}) {
    AcceptanceOptions options{.depth = depth};
    options.folder = "/nonexistent";
    const StageMade made = made_by(run_collectives, fabric, options);
    EXPECT_EQ(made.error, "");
    const std::set<uint64_t> own = sizes_asked(made, "heddle bench allreduce");
    EXPECT_GT(own.size(), 3U);
    EXPECT_EQ(sizes_asked(made, "all_reduce_perf"), own);
    counts.insert(own.size());
  }
  EXPECT_EQ(counts.size(), 2U) << "a full test has more sizes than the others";
}

TEST(NcclTests, AnErrorHasNoSizes) {
  EXPECT_TRUE(sizes_of_nccl_tests("h0: Test NCCL failure common.cu:1012 'unhandled'\n").empty());
}

}  // namespace
}  // namespace heddle::acceptance
