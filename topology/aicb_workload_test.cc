// AICB's workload text as a job: groups, passes, and errors with their line.
#include "topology/aicb_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/temporary_folder.h"
#include "topology/generators.h"
#include "topology/workload_file.h"

namespace heddle::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kHeader =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 "
    "all_gpus: 8 "
    "checkpoints: 0 checkpoint_initiates: 0\n";
const std::string kRows =
    "2\n"
    "attention -1 5000 ALLREDUCE 4096 3000 ALLREDUCE 4096 2000 ALLREDUCE_DP_EP 800 0\n"
    "experts\t-1\t1000\tALLTOALL_EP\t512\t1\tNONE\t0\t1\tREDUCESCATTER\t1600\t100\n";

Result<ForeignJob> parse(const std::string& text, const ForeignOptions& options = {}) {
  return parse_aicb_workload(text, "w.txt", options);
}

std::string refused(const std::string& text, const ForeignOptions& options = {}) {
  const auto made = parse(text, options);
  return made ? "accepted" : made.error().message();
}

std::vector<std::string> calls_of(const Job& job) {
  std::vector<std::string> calls;
  for (const Action& action : job.programs.front().actions) {
    if (action.kind != ActionKind::kCall) continue;
    const uint32_t slot = job.ranks.front().communicators[action.communicator];
    calls.push_back(std::string(name_of(action.call)) + " " + job.communicators[slot].name +
                    (action.label == kNoLabel ? "" : " beside"));
  }
  return calls;
}

// The error was that it did not give the number of ranks.
TEST(AicbWorkload, FewerGpusThanStagesOfThePipelineAreRefused) {
  std::string header = kHeader;
  header.replace(header.find("pp: 1"), 5, "pp: 16");
  EXPECT_THAT(refused(header + kRows), HasSubstr("all_gpus, 8, are fewer than the stages"));
  EXPECT_EQ(refused(header + kRows, {.ranks = 8}), "accepted");
}

TEST(AicbWorkload, RowsAreCalledForwardAndThenBackward) {
  const auto made = parse(kHeader + kRows);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(calls_of(made->job),
              ElementsAre("all_reduce tensor", "all_to_all expert", "reduce_scatter data beside",
                          "all_reduce tensor", "all_reduce expert_data beside"));
  Nanos span;
  for (const Action& action : made->job.programs.front().actions) span += action.span;
  EXPECT_EQ(span, Nanos{5000 + 1000 + 1 + 1 + 3000 + 2000});
  EXPECT_THAT(made->notes, ElementsAre(HasSubstr("100 ns")));
  EXPECT_TRUE(validate(made->job, leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 4})));
}

TEST(AicbWorkload, AMicroBenchmarkCallsAllAtOnce) {
  const auto made = parse("MICRO\n" + kRows, {.open_ranks = 4});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(calls_of(made->job),
              ElementsAre("all_reduce data beside", "reduce_scatter data beside"));
}

TEST(AicbWorkload, GroupsAreMegatrons) {
  const auto made = parse(kHeader + kRows);
  ASSERT_TRUE(made);
  const Job& job = made->job;
  const auto of_rank_5 = [&job](size_t group) {
    return job.communicators[job.ranks[5].communicators[group]].ranks;
  };
  EXPECT_THAT(of_rank_5(0), ElementsAre(4, 5));
  EXPECT_THAT(of_rank_5(1), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(of_rank_5(2), ElementsAre(5, 7));
  EXPECT_THAT(of_rank_5(3), ElementsAre(1, 5));
}

TEST(AicbWorkload, OfAPipelineOneStageIsThere) {
  std::string text = kHeader;
  text.replace(text.find("pp: 1"), 5, "pp: 2 pp_comm 777");
  text.replace(text.find("all_gpus: 8"), 11, "all_gpus: 16");
  const auto made = parse(text + kRows);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->job.ranks.size(), 8u);
  EXPECT_THAT(made->notes.front(), HasSubstr("777 bytes"));
}

TEST(AicbWorkload, TheNumberOfRanksCanBeChanged) {
  const auto made = parse(kHeader + kRows, {.ranks = 4});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->job.ranks.size(), 4u);
  EXPECT_THAT(made->notes.front(), HasSubstr("4 ranks instead of 8"));
  EXPECT_THAT(refused(kHeader + kRows, {.ranks = 6}), HasSubstr("6 ranks cannot have 2 tensor"));
  const std::string open = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n" + kRows;
  EXPECT_THAT(refused(open), HasSubstr("--ranks"));
  EXPECT_TRUE(parse(open, {.open_ranks = 8}));
}

TEST(AicbWorkload, CallsWithinAServerTakeARingsTimeThere) {
  const auto folder = TemporaryFolder::make("heddle-aicb-test").value();
  const std::string path = folder.path() + "/server.txt";
  std::ofstream(path) << kHeader << kRows;
  const auto made = read_foreign_job(
      path, {.server_ranks = 2, .server_rate = gigabits_per_s(32)});  // 4 bytes a ns
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_THAT(calls_of(made->job), ElementsAre("all_to_all expert", "reduce_scatter data beside",
                                               "all_reduce expert_data beside"));
  const auto& actions = made->job.programs.front().actions;
  EXPECT_EQ(actions[1].span, Nanos{1024});
  EXPECT_NE(actions[1].lane, 0u);
  EXPECT_THAT(made->notes.back(), HasSubstr("2 calls"));
}

TEST(AicbWorkload, MistakesAreReportedWithTheirLine) {
  EXPECT_THAT(refused(""), HasSubstr("empty"));
  EXPECT_THAT(refused("DATA\n1\n"), HasSubstr("w.txt:1"));
  EXPECT_THAT(refused("HYBRID_TRANSFORMER checkpoints: 2 1 3\n1\n"), HasSubstr("recomputes"));
  EXPECT_THAT(refused("HYBRID_TRANSFORMER pp: 0\n1\n"), HasSubstr("no ranks"));
  EXPECT_THAT(refused(kHeader + "many\n"), HasSubstr("w.txt:2"));
  EXPECT_THAT(refused(kHeader + "3\n" + kRows.substr(2)), HasSubstr("3 rows by this line, and 2"));
  EXPECT_THAT(refused(kHeader + "1\n" + kRows.substr(2)), HasSubstr("more rows than the 1"));
  EXPECT_THAT(refused(kHeader + "1\nx -1 5 NONE 0 5 NONE 0 5 NONE 0\n"), HasSubstr("w.txt:3"));
  EXPECT_THAT(refused(kHeader + "1\nx -1 fast NONE 0 5 NONE 0 5 NONE 0 1\n"), HasSubstr("word 3"));
  EXPECT_THAT(refused(kHeader + "1\nx -1 5 GOSSIP 0 5 NONE 0 5 NONE 0 1\n"), HasSubstr("GOSSIP"));
  EXPECT_THAT(refused(kHeader + "1\nx -1 5 ALLREDUCE 99999999999999 5 NONE 0 5 NONE 0 1\n"),
              HasSubstr("word 5"));
}

// Workloads of AICB and SimAI: HEDDLE_AICB_WORKLOADS=FOLDER.
TEST(AicbWorkload, ThoseOfAicbAreReadOrRefusedWithAReason) {
  const char* const folder = std::getenv("HEDDLE_AICB_WORKLOADS");
  if (folder == nullptr)
    GTEST_SKIP() << "HEDDLE_AICB_WORKLOADS names no folder of AICB's workloads";
  size_t read = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    const auto made = read_foreign_job(each.path().string(), {.open_ranks = 16});
    if (made) {
      ++read;
    } else {
      EXPECT_FALSE(made.error().todo.empty());
    }
  }
  EXPECT_GT(read, 0u);
}

}  // namespace
}  // namespace heddle::topology
