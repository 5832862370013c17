// Time of a step and what it asks of the network: by hand for one model, and how it depends on each
// value.
#include "planner/size_cluster.h"

#include <gtest/gtest.h>

#include "planner/size_validate.h"
#include "planner/sizing/step_time.h"

namespace heddle::planner {
namespace {

const Gpu kGpu{.name = "a GPU",
               .source = "given",
               .peak_flops = 1e15,
               .achievable_flops = 8e14,
               .nvlink_bits_per_s = 3'600e9};
const FabricPreset kFabric{.name = "a fabric", .source = "given", .nic_bits_per_s = 400e9};

ClusterQuestion question_of(const JobShape& job) {
  return {.job = job, .gpu = kGpu, .fabric = kFabric, .kernel_share = 0.5};
}

double figure_of(const ClusterQuestion& question, const char* name) {
  const Result<ModelShape> model = find_model("llama-3-8b");
  EXPECT_TRUE(model.has_value());
  const Result<Answer> answer = size_cluster(*model, question);
  EXPECT_TRUE(answer.has_value());
  return answer ? answer->figure(name).value : 0;
}

// 64 nodes of one GPU, DDP, 4 bytes a gradient: 2 x 63/64 x 8,030,261,248 x 4 B = 63,239 MB through
// a NIC; 400 Gb/s x 4096 / 4178 take 1.2901 s. A sequence of 8,192 tokens: 6 x (8,030,261,248 -
// 525,336,576) + 12 x 32 x 4,096 x 8,192 = 5.7914e10 operations a token, 4.7444e14 in all, at 4e14
// a second: 1.1861 s, of which two thirds are beside the exchange.
TEST(SizeCluster, GradientsThatDoNotFitBesideTheBackwardPassAreExposed) {
  const ClusterQuestion question = question_of({.gpus = 64, .gpus_per_node = 1});
  EXPECT_NEAR(figure_of(question, "compute_s"), 1.1861, 1e-4);
  EXPECT_NEAR(figure_of(question, "data_s"), 1.2901, 1e-4);
  EXPECT_NEAR(figure_of(question, "exposed_s"), 1.2901 - 1.1861 * 2 / 3, 2e-4);
  EXPECT_NEAR(figure_of(question, "step_s"), 1.1861 + 0.4994, 2e-4);
  // One rank a node: a bus bandwidth is the payload that a NIC carries.
  EXPECT_NEAR(8 * figure_of(question, "needed_bus_bytes_per_s"),
              figure_of(question, "needed_wire_bits_per_s") * kNicShare, 1e3);
}

TEST(SizeCluster, AtTheNeededRateNothingIsExposed) {
  ClusterQuestion question = question_of({.gpus = 64, .gpus_per_node = 1});
  question.fabric.nic_bits_per_s = figure_of(question, "needed_wire_bits_per_s") * 1.000'001;
  EXPECT_DOUBLE_EQ(figure_of(question, "exposed_s"), 0);
  question.fabric.oversubscription = 2;
  EXPECT_GT(figure_of(question, "exposed_s"), 0);
  question.fabric.nic_bits_per_s = figure_of(question, "needed_wire_bits_per_s") * 1.000'001;
  EXPECT_DOUBLE_EQ(figure_of(question, "exposed_s"), 0);
}

TEST(SizeCluster, ABusBandwidthCountsWhatStaysOnANodeToo) {
  const ClusterQuestion question = question_of({.gpus = 64});
  // 8 nodes of 8: the NIC sends 2 x 7/8 / 8 of what is reduced, the bus bandwidth counts 2 x 63/64.
  EXPECT_NEAR(8 * figure_of(question, "needed_bus_bytes_per_s") /
                  (figure_of(question, "needed_wire_bits_per_s") * kNicShare),
              63.0 / 7, 1e-9);
}

TEST(SizeCluster, FasterGpusWantFasterNics) {
  for (const uint64_t zero : {0, 1, 2, 3}) {
    ClusterQuestion question = question_of({.gpus = 256, .zero_stage = zero, .batch = 1'024});
    const double needed = figure_of(question, "needed_wire_bits_per_s");
    const double tokens = figure_of(question, "tokens_per_s");
    question.gpu.achievable_flops *= 2;
    EXPECT_GT(figure_of(question, "needed_wire_bits_per_s"), needed);
    EXPECT_GT(figure_of(question, "tokens_per_s"), tokens);
  }
}

TEST(SizeCluster, ModelsWithoutAShapeAreRefused) {
  const Result<Answer> answer =
      size_cluster({.name = "one", .parameters_alone = 1'000}, question_of({.gpus = 8}));
  ASSERT_FALSE(answer.has_value());
  EXPECT_NE(answer.error().todo.find("--model"), std::string::npos);
}

// Not what the formulas should give but what they do: a change of a formula must not go unseen.
TEST(SizeValidate, HalfOfThePublishedRowsAreWithinATenth) {
  const Answer answer = size_validate();
  EXPECT_LT(answer.figure("error_percent").value, 10);
  EXPECT_LT(answer.figure("steps_error_percent").value, 10);
  EXPECT_LT(answer.figure("all_reduces_error_percent").value, 10);
  ASSERT_EQ(answer.tables.size(), 2u);
  EXPECT_EQ(answer.tables[0].rows.size() + answer.tables[1].rows.size(), 37u);
}

}  // namespace
}  // namespace heddle::planner
