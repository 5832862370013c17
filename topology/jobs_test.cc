// Jobs of workload files: the calls of each rank, the traffic of each kind of training, and errors
// with their line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "topology/generators.h"
#include "topology/job_text.h"
#include "topology/workload_file.h"

namespace heddle::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Hosts h0 to h7.
Topology fabric() { return leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 4}); }

Job job_of(const std::string& text) {
  Result<Workload> workload = parse_workload("version = 1\n" + text, "w.toml", fabric(), 1);
  EXPECT_TRUE(workload) << workload.error().message();
  return workload && workload->jobs.size() == 1 ? workload->jobs.front() : Job{};
}

std::string refused(const std::string& text) {
  const Result<Workload> workload = parse_workload("version = 1\n" + text, "w.toml", fabric(), 1);
  return workload ? "accepted" : workload.error().message();
}

// The calls of a rank in one step, summed.
struct Sum {
  uint64_t calls = 0;
  uint64_t bytes = 0;
  bool operator==(const Sum&) const = default;
};

Sum sum_of(const Job& job, uint32_t rank, CallKind kind, const std::string& communicator) {
  Sum sum;
  const JobRank& at = job.ranks[rank];
  for (const Action& action : job.programs[at.program].actions) {
    if (action.kind != ActionKind::kCall || action.call != kind) continue;
    if (job.communicators[at.communicators[action.communicator]].name != communicator) continue;
    ++sum.calls;
    sum.bytes += action.bytes;
  }
  return sum;
}

Nanos computed(const Job& job, uint32_t rank) {
  Nanos sum;
  for (const Action& action : job.programs[job.ranks[rank].program].actions) sum += action.span;
  return sum;
}

TEST(Jobs, ACollectiveJobRepeatsItsCall) {
  const Job job = job_of(R"(
[[job]]
kind = "broadcast"
name = "weights"
hosts = ["h4..h6", "h0"]
bytes = "1KB"
element_bytes = 4
algorithm = "tree"
root = 3
count = 5
gap = "2us"
start = "1ms"
chunk = "64KiB"
)");
  EXPECT_EQ(job.name, "weights");
  EXPECT_EQ(job.start, millis(1));
  EXPECT_EQ(job.chunk, kibibytes(64));
  ASSERT_EQ(job.ranks.size(), 4u);
  EXPECT_EQ(job.ranks[0].host, 4u);
  EXPECT_EQ(job.ranks[3].host, 0u);
  ASSERT_EQ(job.programs.size(), 1u);
  EXPECT_EQ(job.programs[0].repeat, 5u);
  const Action call{.kind = ActionKind::kCall,
                    .call = CallKind::kBroadcast,
                    .algorithm = AlgorithmChoice{CallAlgorithm::kTree},
                    .element_bytes = 4,
                    .root = 3,
                    .bytes = 1'000,
                    .span = {}};
  const Action gap{.kind = ActionKind::kCompute, .algorithm = {}, .span = micros(2)};
  EXPECT_THAT(job.programs[0].actions, ElementsAre(call, gap));
}

TEST(Jobs, DataParallelRanksReduceTheirGradientsInBuckets) {
  const Job job = job_of(R"(
[[job]]
kind = "training"
layers = 10
layer_bytes = "7MB"
bucket = "25MB"
forward = "1ms"
update = "3ms"
microbatches = 2
steps = 4
)");
  ASSERT_EQ(job.ranks.size(), 8u);
  EXPECT_EQ(job.programs[0].repeat, 4u);
  // Gradients of the last microbatch only.
  EXPECT_EQ(sum_of(job, 5, CallKind::kAllReduce, "data"), (Sum{3, 70'000'000}));
  EXPECT_EQ(computed(job, 5), millis(2 * 10 * (1 + 2) + 3));
  EXPECT_EQ(job.communicators.size(), 1u);
}

TEST(Jobs, ShardedRanksGatherEachLayerTwiceAndScatterItsGradients) {
  const Job job = job_of(R"(
[[job]]
kind = "training"
layers = 12
layer_bytes = "10MB"
forward = "1ms"
sharded = true
)");
  EXPECT_EQ(sum_of(job, 0, CallKind::kAllGather, "data"), (Sum{24, 240'000'000}));
  EXPECT_EQ(sum_of(job, 0, CallKind::kReduceScatter, "data"), (Sum{12, 120'000'000}));
  EXPECT_EQ(sum_of(job, 0, CallKind::kAllReduce, "data"), Sum{});
}

TEST(Jobs, StagesSendActivationsForwardAndGradientsBackward) {
  const Job job = job_of(R"(
[[job]]
kind = "training"
pipeline = 4
data = 2
layers = 6
layer_bytes = "1MB"
activation_bytes = "2MB"
forward = "1ms"
backward = "3ms"
microbatches = 8
)");
  ASSERT_EQ(job.programs.size(), 4u);
  for (uint32_t rank = 0; rank < 8; ++rank) {
    const uint64_t stage = rank / 2;
    const uint64_t sides = (stage > 0 ? 1 : 0) + (stage < 3 ? 1 : 0);
    const Sum messages{8 * sides, 8 * sides * 2'000'000};
    EXPECT_EQ(sum_of(job, rank, CallKind::kSend, "pipeline"), messages) << rank;
    EXPECT_EQ(sum_of(job, rank, CallKind::kReceive, "pipeline"), messages) << rank;
    const int64_t layers = stage % 2 == 0 ? 1 : 2;
    EXPECT_EQ(computed(job, rank), millis(8 * layers * 4)) << rank;
    EXPECT_EQ(job.communicators[job.ranks[rank].communicators[1]].ranks,
              (std::vector<uint32_t>{rank - rank % 2, rank - rank % 2 + 1}));
  }
  // The first stage runs three microbatches before its first gradient.
  uint64_t sent = 0;
  for (const Action& action : job.programs[0].actions) {
    if (action.kind != ActionKind::kCall) continue;
    if (action.call == CallKind::kReceive) break;
    ++sent;
  }
  EXPECT_EQ(sent, 4u);
}

TEST(Jobs, TensorParallelRanksReduceTwiceInEachLayerAndPass) {
  const Job job = job_of(R"(
[[job]]
kind = "training"
tensor = 2
data = 2
pipeline = 2
layers = 4
layer_bytes = "1MB"
activation_bytes = "512KB"
forward = "1ms"
)");
  // Two layers in each stage, forward and backward.
  EXPECT_EQ(sum_of(job, 3, CallKind::kAllReduce, "tensor"), (Sum{8, 8 * 512'000}));
  EXPECT_EQ(computed(job, 3), millis(2 * 3));
  const JobRank& rank = job.ranks[3];
  EXPECT_THAT(job.communicators[rank.communicators[0]].ranks, ElementsAre(2, 3));
  EXPECT_THAT(job.communicators[rank.communicators[1]].ranks, ElementsAre(1, 3));
  EXPECT_THAT(job.communicators[rank.communicators[2]].ranks, ElementsAre(3, 7));
}

constexpr const char* kProgram = R"(
[[job]]
kind = "program"
name = "mine"
ranks = 4
chunk = "32KiB"

[[job.communicator]]
name = "all"
ranks = ["0..3"]

[[job.communicator]]
name = "half"
ranks = ["0", "2"]

[[job.communicator]]
name = "half"
ranks = ["3", "1"]

[[job.program]]
ranks = ["0", "2..3"]
repeat = 3
actions = [
  "compute 1.5ms",
  "all_reduce all 1000x4 tree as a",
  "all_gather half 8MB",
  "broadcast all 1KB root 2 as b",
  "wait a",
  "barrier all",
  "wait all",
]

[[job.program]]
ranks = ["1"]
repeat = 3
actions = [
  "all_reduce all 1000x4 tree",
  "all_gather half 8MB",
  "broadcast all 1KB root 2",
  "barrier all",
]
)";

TEST(Jobs, AProgramIsReadAndWrittenBackUnchanged) {
  const Job job = job_of(kProgram);
  ASSERT_EQ(job.ranks.size(), 4u);
  EXPECT_EQ(job.ranks[1].program, 1u);
  EXPECT_THAT(job.ranks[3].communicators, ElementsAre(0, 2));
  EXPECT_THAT(job.communicators[2].ranks, ElementsAre(3, 1));
  const Program& program = job.programs[0];
  EXPECT_EQ(program.repeat, 3u);
  ASSERT_EQ(program.actions.size(), 7u);
  EXPECT_EQ(program.actions[1].bytes, 4'000u);
  EXPECT_EQ(program.actions[1].element_bytes, 4);
  EXPECT_EQ(program.actions[2].communicator, 1u);
  EXPECT_EQ(program.actions[2].label, kNoLabel);
  EXPECT_EQ(program.actions[4].label, program.actions[1].label);
  EXPECT_EQ(program.actions[6].label, kEveryLabel);
  EXPECT_EQ(job_of(job_text(job)), job);
}

TEST(Jobs, LabeledActionsNameTheirLaneAndWhatTheyStartAfter) {
  const std::string begin = R"([[job]]
kind = "program"
ranks = 2
[[job.program]]
ranks = ["0..1"]
actions = [)";
  const Job job = job_of(begin + R"("compute 1ms as a", "compute 2ms on cpu as b after a",
  "all_reduce world 1MB as c after a b", "compute 1us on cpu"])");
  const Program& program = job.programs.front();
  EXPECT_EQ(program.actions[1].lane, program.actions[3].lane);
  EXPECT_NE(program.actions[0].lane, program.actions[1].lane);
  EXPECT_THAT(program.actions[2].after, ElementsAre(0, 1));
  EXPECT_EQ(program.actions[3].label, kNoLabel);
  EXPECT_EQ(job_of(job_text(job)).programs, job.programs);
  EXPECT_THAT(refused(begin + R"("compute 1ms after a"])"), HasSubstr("as NAME"));
  EXPECT_THAT(refused(begin + R"("compute 1ms as a after b"])"), HasSubstr("named \"b\""));
  EXPECT_THAT(refused(begin + R"("compute 1ms as a after"])"), HasSubstr("behind \"after\""));
  EXPECT_THAT(refused(begin + R"("compute 1ms on"])"), HasSubstr("lane"));
}

TEST(Jobs, ATrainingJobCanBeWrittenAsAProgram) {
  const Job job = job_of(R"(
[[job]]
kind = "training"
data = 8
layers = 2
layer_bytes = "1MB"
forward = "1ms"
)");
  const Job again = job_of(job_text(job));
  ASSERT_EQ(again.programs[0].actions.size(), job.programs[0].actions.size());
  EXPECT_EQ(sum_of(again, 0, CallKind::kAllReduce, "data"),
            sum_of(job, 0, CallKind::kAllReduce, "data"));
}

TEST(Jobs, TwoLevelsAreNamedWithTheirGroups) {
  const std::string job = "[[job]]\nkind = \"all_reduce\"\nbytes = \"1MB\"\nalgorithm = \"";
  const AlgorithmChoice right{CallAlgorithm::kTwoLevel, 4};
  EXPECT_EQ(job_of(job + "two_level/4\"\n").programs.at(0).actions.at(0).algorithm, right);
  for (const char* wrong : {"two_level", "two_level/", "two_level/1", "two_level/4x", "ring/4"}) {
    EXPECT_THAT(refused(job + wrong + "\"\n"), HasSubstr("two_level/RANKS_OF_A_GROUP")) << wrong;
  }
  EXPECT_THAT(refused(job + "two_level/3\"\n"), HasSubstr("that divide them"));
  EXPECT_THAT(refused(job + "two_level/8\"\n"), HasSubstr("that divide them"));
}

TEST(Jobs, MistakesAreReportedWithTheirLine) {
  const std::string head = "[[job]]\nkind = \"program\"\nranks = 2\n";
  const std::string actions = head + "[[job.program]]\nranks = [\"0..1\"]\nactions = [\n";
  EXPECT_THAT(refused(head), HasSubstr("'program' is missing"));
  EXPECT_THAT(refused(actions + "\"wait\"]"), HasSubstr("w.toml:8: \"wait\": it names no call"));
  EXPECT_THAT(refused(actions + "\"walk\"]"), HasSubstr("there is no \"walk\""));
  EXPECT_THAT(refused(actions + "\"barrier w\"]"), HasSubstr("no communicator \"w\""));
  EXPECT_THAT(refused(actions + "\"all_reduce world\"]"), HasSubstr("it has no size"));
  EXPECT_THAT(refused(actions + "\"all_reduce world 5x3\"]"), HasSubstr("it has no size"));
  EXPECT_THAT(refused(actions + "\"all_reduce world 1MB bruck\"]"), HasSubstr("has no bruck"));
  EXPECT_THAT(refused(actions + "\"all_reduce world 1MB now\"]"), HasSubstr("\"now\" is too much"));
  EXPECT_THAT(refused(actions + "\"send world 1MB\"]"), HasSubstr("write \"to RANK\""));
  EXPECT_THAT(refused(actions + "\"send world 1MB to 1\"]"), HasSubstr("sends to itself"));
  EXPECT_THAT(refused(actions + "\"broadcast world 1MB root 7\"]"), HasSubstr("names rank 7"));
  EXPECT_THAT(refused(head + "[[job.program]]\nranks = [\"0\"]\nactions = []\n"),
              HasSubstr("rank 1 has no program"));
  EXPECT_THAT(refused(head + "[[job.program]]\nranks = [\"0..2\"]\nactions = []\n"),
              HasSubstr("w.toml:6: \"0..2\" are no ranks"));
  EXPECT_THAT(refused("[[job]]\nkind = \"program\"\nranks = 9\n"), HasSubstr("there are 8 hosts"));
  const std::string training = "[[job]]\nkind = \"training\"\nforward = \"1ms\"\n";
  EXPECT_THAT(refused(training), HasSubstr("'layer_bytes' is missing"));
  EXPECT_THAT(refused(training + "layer_bytes = \"1MB\"\npipeline = 3\nlayers = 3\n"),
              HasSubstr("'activation_bytes' is missing"));
  EXPECT_THAT(refused(training + "layer_bytes = \"1MB\"\ndata = 3\ntensor = 3\n"),
              HasSubstr("w.toml:6: tensor x pipeline x data is 9 ranks"));
  EXPECT_THAT(refused(training + "pipeline = 8\nactivation_bytes = \"1MB\"\n"),
              HasSubstr("more stages than layers"));
}

// Names were compared one by one, and the error of one too many was that it had no name.
TEST(Jobs, AProgramHasUpTo65536NamesOfActions) {
  const auto job = [](int names) {
    std::string text =
        "[[job]]\nkind = \"program\"\nranks = 2\n[[job.program]]\nranks = [\"0..1\"]\nactions = [";
    for (int i = 0; i < names; ++i) text += "\"compute 1ns as c" + std::to_string(i) + "\",";
    return text + "\"all_reduce world 1KB\"]\n";
  };
  EXPECT_EQ(refused(job(65'536)), "accepted");
  EXPECT_THAT(refused(job(65'537)), HasSubstr("more than 65,536 names"));
}

}  // namespace
}  // namespace heddle::topology
