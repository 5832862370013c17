// Training jobs by rate and depth, and what their documents say.
#include "acceptance/training_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

using testing::HasSubstr;

double ring_seconds(const TrainingJob& job, double bound) {
  return 2.0 * (job.ranks - 1) / job.ranks * static_cast<double>(job.gradient_bytes) * 8 / bound;
}

TEST(TrainingJob, IsResNet18WhereTheFabricIsFast) {
  const TrainingJob job = training_job(4, 97e9, Depth::kQuick);
  EXPECT_LE(job.gradient_bytes, resnet18_gradient_bytes());
  EXPECT_GT(job.gradient_bytes + 64, resnet18_gradient_bytes());
}

TEST(TrainingJob, CommunicationFitsBesideTheBackwardPassAtEachRateAndDepth) {
  for (const Depth depth : {Depth::kQuick, Depth::kNormal, Depth::kFull}) {
    for (const double bound : {1e5, 1e7, 190e6, 10e9, 400e9}) {
      for (const uint32_t ranks : {2U, 3U, 4U, 64U, 1'000U}) {
        const TrainingJob job = training_job(ranks, bound, depth);
        EXPECT_GT(job.gradient_bytes, 0U);
        EXPECT_EQ(job.gradient_bytes % 32, 0U) << "eight layers of whole floats";
        EXPECT_LT(ring_seconds(job, bound), to_seconds(job.backward) + 32 * 8 / bound * 2);
        EXPECT_GE(job.steps, 4U);
        EXPECT_LE(job.steps, 51U);
      }
    }
  }
}

TEST(TrainingJob, SlowFabricsGetAShareOfTheGradients) {
  const TrainingJob quick = training_job(4, 190e6, Depth::kQuick);
  const TrainingJob full = training_job(4, 190e6, Depth::kFull);
  EXPECT_LT(quick.gradient_bytes, full.gradient_bytes);
  EXPECT_LT(ring_seconds(quick, 190e6), 0.26);
}

TEST(TrainingJob, WithoutARateItHasTheWholeGradientsAndSomeComputation) {
  const TrainingJob job = training_job(4, 0, Depth::kNormal);
  EXPECT_GT(job.gradient_bytes + 64, resnet18_gradient_bytes());
  EXPECT_GT(job.backward.count, 0);
}

TEST(TrainingJob, TheWorkloadHasWholeBuckets) {
  const std::string text = workload_of({.ranks = 4,
                                        .gradient_bytes = 3'200,
                                        .forward = micros(80),
                                        .backward = micros(160),
                                        .steps = 5});
  EXPECT_THAT(text, HasSubstr("layer_bytes = \"400B\""));
  EXPECT_THAT(text, HasSubstr("bucket = \"800B\""));
  EXPECT_THAT(text, HasSubstr("forward = \"10000ns\""));
  EXPECT_THAT(text, HasSubstr("steps = 5"));
}

// A step of a slow fabric looked as if it were ResNet-18's.
TEST(TrainingJob, ARowSaysHowMuchOfTheGradientsAStepMoves) {
  TrainingJob job{.ranks = 4, .gradient_bytes = 12'600'000};
  Row row = gradients_row("4 hosts", job, 0.8);
  EXPECT_EQ(row.measured,
            "12.6 of ResNet-18's 44.7 MB; calculated for all of them: 2.84 s of communication a "
            "step");
  EXPECT_TRUE(is_information(row));
  EXPECT_EQ(gradients_row("4 hosts", job, 0).measured, "12.6 of ResNet-18's 44.7 MB");
  job.gradient_bytes = 51'200;
  row = gradients_row("4 hosts", job, 0);
  EXPECT_EQ(row.measured, "0.0512 of ResNet-18's 44.7 MB");
}

TEST(StepFigures, AreMediansWithoutTheFirstStep) {
  Json document = Json::parse(R"({"jobs": [{"steps": [
      {"took_us": 9e6, "computed_us": 9e6, "exposed_us": 9e6},
      {"took_us": 3e6, "computed_us": 1e6, "exposed_us": 2e6},
      {"took_us": 1e6, "computed_us": 1e6, "exposed_us": 1e5},
      {"took_us": 2e6, "computed_us": 1e6, "exposed_us": 1e6}]}]})");
  const StepFigures figures = step_figures(document);
  EXPECT_EQ(figures.steps, 3U);
  EXPECT_DOUBLE_EQ(figures.step_s, 2);
  EXPECT_DOUBLE_EQ(figures.computing_s, 1);
  EXPECT_DOUBLE_EQ(figures.exposed_s, 1);
}

TEST(StepFigures, OfARunThatHasNoStepAreZero) {
  EXPECT_EQ(step_figures(Json::parse(R"({"jobs": [{"steps": []}]})")).steps, 0U);
  EXPECT_THROW(step_figures(Json::parse(R"({"jobs": []})")), Json::exception);
}

}  // namespace
}  // namespace heddle::acceptance
