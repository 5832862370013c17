// Time of a step and what it asks of the network: by hand for one model, and how it depends on each
// value.
#include "planner/size_cluster.h"

#include <gtest/gtest.h>

#include <string>

#include "planner/size_overlap.h"
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
// a second: 1.1861 s, of which two thirds are beside the exchange. It begins with the first of
// 1,226 buckets.
TEST(SizeCluster, GradientsThatDoNotFitBesideTheBackwardPassAreExposed) {
  const ClusterQuestion question = question_of({.gpus = 64, .gpus_per_node = 1});
  EXPECT_NEAR(figure_of(question, "compute_s"), 1.1861, 1e-4);
  EXPECT_NEAR(figure_of(question, "data_s"), 1.2901, 1e-4);
  const double window = 1.1861 * 2 / 3;
  EXPECT_NEAR(figure_of(question, "exposed_s"), 1.2901 - window + window / 1'226, 2e-4);
  EXPECT_NEAR(figure_of(question, "step_s"), 1.1861 + 0.5001, 2e-4);
  // One rank a node: a bus bandwidth is the payload that a NIC carries.
  EXPECT_NEAR(8 * figure_of(question, "needed_bus_bytes_per_s"),
              figure_of(question, "needed_wire_bits_per_s") * kNicShare, 1e3);
}

void expect_only_the_last_bucket(const ClusterQuestion& question) {
  const double last = figure_of(question, "last_bucket_s");
  EXPECT_GT(last, 0);
  EXPECT_DOUBLE_EQ(figure_of(question, "exposed_s"), last);
}

TEST(SizeCluster, AtTheNeededRateTheLastBucketAloneIsExposed) {
  ClusterQuestion question = question_of({.gpus = 64, .gpus_per_node = 1});
  question.fabric.nic_bits_per_s = figure_of(question, "needed_wire_bits_per_s") * 1.000'001;
  expect_only_the_last_bucket(question);
  question.fabric.oversubscription = 2;
  EXPECT_GT(figure_of(question, "exposed_s"), 2 * figure_of(question, "last_bucket_s"));
  question.fabric.nic_bits_per_s = figure_of(question, "needed_wire_bits_per_s") * 1.000'001;
  expect_only_the_last_bucket(question);
}

// The two questions with the same step: buckets of equal size, and rings whose steps take no time.
TEST(SizeCluster, TheLastBucketIsThatOfOverlap) {
  const ModelShape model{.name = "a model",
                         .layers = 2,
                         .hidden = 1'024,
                         .heads = 8,
                         .key_value_heads = 8,
                         .head_dim = 128,
                         .ffn = 4'096,
                         .vocabulary = 1'000};
  const double gradients = 4.0 * static_cast<double>(parameters(model));
  for (const double buckets : {1.0, 2.0, 7.0, 100.0}) {
    for (const double rate : {1e9, 10e9, 100e9, 1'000e9}) {
      ClusterQuestion question = question_of({.gpus = 16, .gpus_per_node = 1, .sequence = 256});
      question.fabric.nic_bits_per_s = rate;
      question.bucket_bytes = gradients / buckets * (1 + 1e-12);  // not one bucket more
      const Result<Answer> answer = size_cluster(model, question);
      ASSERT_TRUE(answer.has_value());
      const double compute_s = answer->figure("compute_s").value;
      const Result<Answer> overlap = size_overlap(model, {.gpus = 16,
                                                          .link_bits_per_s = rate,
                                                          .bucket_bytes = question.bucket_bytes,
                                                          .forward_s = compute_s / 3,
                                                          .backward_s = compute_s * 2 / 3,
                                                          .chunk_bytes = 1,
                                                          .step_s = 0});
      ASSERT_TRUE(overlap.has_value());
      EXPECT_NEAR(answer->figure("exposed_s").value / overlap->figure("exposed_s").value, 1, 1e-6)
          << buckets << " buckets at " << rate;
      EXPECT_NEAR(answer->figure("step_s").value / overlap->figure("step_s").value, 1, 1e-6);
    }
  }
}

TEST(SizeCluster, EfficienciesAreOfAStepWithoutAnExchange) {
  for (const uint64_t sites : {1, 2}) {
    for (const uint64_t zero : {0, 1, 3}) {
      ClusterQuestion question =
          question_of({.gpus = 256, .sites = sites, .zero_stage = zero, .batch = 512});
      question.site_link = {.km = 1'000, .bits_per_s = 400e9};
      const Result<ModelShape> model = find_model("llama-3-8b");
      const Result<Answer> answer = size_cluster(*model, question);
      ASSERT_TRUE(answer.has_value());
      for (const Table& table : answer->tables) {
        if (table.name != "scaling") continue;
        EXPECT_GT(table.rows.size(), 6u);
        for (const auto& row : table.rows) {
          const double even = std::get<double>(row[4]);
          const double half = std::get<double>(row[6]);
          EXPECT_LE(half, even);
          EXPECT_LE(even, 1);
          const bool alone = std::get<double>(row[1]) == 1;
          EXPECT_EQ(even == 1, alone) << std::get<double>(row[1]) << " replicas: " << even;
        }
      }
    }
  }
}

// 8,030,261,248 parameters at 2 + 4 + 12 bytes are 134.6 GiB alone.
TEST(SizeCluster, AJobThatDoesNotFitIsNotSound) {
  ClusterQuestion question = question_of({.gpus = 64});
  question.gpu.memory_bytes = 80.0 * (1 << 30);
  const Result<ModelShape> model = find_model("llama-3-8b");
  const Result<Answer> small = size_cluster(*model, question);
  ASSERT_TRUE(small.has_value());
  EXPECT_FALSE(small->sound);
  EXPECT_GT(small->figure("memory_needed_bytes").value, 134.6 * (1 << 30));
  const std::string advice = small->advice.front();
  EXPECT_EQ(advice.find("does not fit: "), 0u) << advice;
  EXPECT_NE(advice.find("GiB needed of 80.0 GiB; it fits with --zero 2 ("), std::string::npos);
  EXPECT_EQ(advice.find("--zero 1"), std::string::npos);  // with which it does not
  question.job.zero_stage = 2;
  const Result<Answer> shared = size_cluster(*model, question);
  ASSERT_TRUE(shared.has_value());
  EXPECT_TRUE(shared->sound);
  EXPECT_LT(shared->figure("memory_share").value, 1);
  question.gpu.memory_bytes = 1 << 30;
  const Result<Answer> never = size_cluster(*model, question);
  ASSERT_TRUE(never.has_value());
  EXPECT_NE(never->advice.front().find("are not enough"), std::string::npos);
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
