// Overlap of buckets with the backward pass: by hand for small steps, against a step that is played
// bucket by bucket, and how it depends on each value.
#include "planner/size_overlap.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle::planner {
namespace {

const ModelShape kMillion{.name = "a million", .parameters_alone = 1'000'000};

// 4,000,000 bytes of gradients in 4 buckets of 1,000,000; 8 Gb/s without headers: a byte takes 1
// ns.
OverlapQuestion question_of(uint64_t gpus, double backward_s) {
  return {.gpus = gpus,
          .link_bits_per_s = 8e9,
          .bucket_bytes = 1e6,
          .backward_s = backward_s,
          .chunk_bytes = 1e5,
          .step_s = 0,
          .header_bytes = 0};
}

double figure_of(const OverlapQuestion& question, const char* name) {
  const Result<Answer> answer = size_overlap(kMillion, question);
  EXPECT_TRUE(answer.has_value());
  return answer ? answer->figure(name).value : 0;
}

// 2 GPUs: a bucket is 2 x 1/2 x 1,000,000 B = 1 ms; all are 4 ms. 8 ms of backward: 2 ms a bucket,
// so the last one alone is exposed. 2 ms: the first is ready after 0.5 ms, and 4 ms follow: 2.5 ms.
TEST(SizeOverlap, TheLastBucketIsExposedOrAllThatDoesNotFit) {
  EXPECT_DOUBLE_EQ(figure_of(question_of(2, 8e-3), "communication_s"), 4e-3);
  EXPECT_DOUBLE_EQ(figure_of(question_of(2, 8e-3), "exposed_s"), 1e-3);
  EXPECT_DOUBLE_EQ(figure_of(question_of(2, 2e-3), "exposed_s"), 2.5e-3);
  // 3 ms of computation and 2.5 ms more: 2 x 3 / 5.5.
  EXPECT_DOUBLE_EQ(figure_of(question_of(2, 2e-3), "speedup"), 2 * 3 / 5.5);
}

// A step of 10 us exposes 2 x 15 x 10 us where a block is one chunk, and nothing where it is many.
TEST(SizeOverlap, ChunksHideTheWayOfABlock) {
  OverlapQuestion question = question_of(16, 8e-3);
  question.step_s = 10e-6;
  const double block_s = 1e6 / 16 * 1e-9;
  EXPECT_NEAR(figure_of(question, "bucket_s"), 30 * (block_s + 10e-6), 1e-12);
  question.chunk_bytes = 1e4;
  EXPECT_NEAR(figure_of(question, "bucket_s"), 30 * block_s, 1e-12);
}

// Each bucket by itself: it begins when its gradients are there and the one before it has ended.
double played(double backward_s, double buckets, double bucket_s, double last_s, double share) {
  double end = 0;
  for (double i = 1; i <= buckets; ++i) {
    const double ready = std::min(1.0, i * share) * backward_s;
    end = std::max(end, ready) + (i < buckets ? bucket_s : last_s);
  }
  return end;
}

TEST(SizeOverlap, TheClosedFormIsTheStepPlayedBucketByBucket) {
  for (const uint64_t gpus : {2, 3, 8, 64}) {
    for (const double bucket : {3e5, 1e6, 1.7e6, 2.5e6, 4e6, 9e6}) {
      for (double backward_s = 1e-4; backward_s < 1; backward_s *= 1.7) {
        OverlapQuestion question = question_of(gpus, backward_s);
        question.bucket_bytes = bucket;
        question.forward_s = 1e-3;
        const Result<Answer> answer = size_overlap(kMillion, question);
        ASSERT_TRUE(answer.has_value());
        const double end =
            played(backward_s, answer->figure("buckets").value, answer->figure("bucket_s").value,
                   answer->figure("last_bucket_s").value, bucket / 4e6);
        EXPECT_NEAR(answer->figure("step_s").value, 1e-3 + end, 1e-12);
      }
    }
  }
}

TEST(SizeOverlap, MoreComputationOrAFasterLinkExposesLess) {
  for (double backward_s = 1e-4; backward_s < 0.1; backward_s *= 2) {
    const OverlapQuestion question = question_of(8, backward_s);
    const double exposed_s = figure_of(question, "exposed_s");
    EXPECT_GT(exposed_s, 0);
    OverlapQuestion other = question;
    other.backward_s *= 2;
    EXPECT_LE(figure_of(other, "exposed_s"), exposed_s);
    other = question;
    other.link_bits_per_s *= 2;
    EXPECT_LT(figure_of(other, "exposed_s"), exposed_s);
    EXPECT_LT(figure_of(question, "speedup"), 8);
  }
}

// At the rate that the answer asks for, communication lasts as long as the backward pass.
TEST(SizeOverlap, TheNeededRateIsTheOneAtWhichTheOverlapConditionHolds) {
  OverlapQuestion question = question_of(16, 2e-3);
  EXPECT_GT(figure_of(question, "bucket_s"), figure_of(question, "bucket_backward_s"));
  question.link_bits_per_s = figure_of(question, "needed_bits_per_s");
  EXPECT_NEAR(figure_of(question, "communication_s"), 2e-3, 1e-12);
  EXPECT_NEAR(figure_of(question, "bucket_s"), figure_of(question, "bucket_backward_s"), 1e-12);
}

TEST(SizeOverlap, ImpossibleStepsAreRefused) {
  EXPECT_FALSE(size_overlap(kMillion, question_of(1, 1)).has_value());
  EXPECT_FALSE(size_overlap(kMillion, question_of(2, 0)).has_value());
  EXPECT_FALSE(size_overlap({.name = "none"}, question_of(2, 1)).has_value());
}

}  // namespace
}  // namespace heddle::planner
