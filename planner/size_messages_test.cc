// From buckets to packets: the defaults by hand, and how units nest.
#include "planner/size_messages.h"

#include <gtest/gtest.h>

namespace heddle::planner {
namespace {

double figure_of(const MessagesQuestion& question, const char* name) {
  const Result<Answer> answer = size_messages(question);
  EXPECT_TRUE(answer.has_value());
  return answer ? answer->figure(name).value : 0;
}

// 256 MiB over 2 GPUs and 8 channels: blocks of 16 MiB. NCCL's buffer of 4 MiB has chunks of 2 MiB
// and slices of 1 MiB, which is 256 packets of 4,096 bytes; 16 slices a block, 2 steps, 8 channels.
TEST(SizeMessages, LargeBucketsTravelInSlicesOfAMebibyte) {
  const MessagesQuestion question{.bucket_bytes = 256 << 20, .gpus = 2};
  EXPECT_DOUBLE_EQ(figure_of(question, "chunk_bytes"), 2 << 20);
  EXPECT_DOUBLE_EQ(figure_of(question, "message_bytes"), 1 << 20);
  EXPECT_DOUBLE_EQ(figure_of(question, "packets"), 256);
  EXPECT_DOUBLE_EQ(figure_of(question, "wire_bytes"), (1 << 20) + 256 * 82);
  EXPECT_DOUBLE_EQ(figure_of(question, "bucket_messages"), 2 * 8 * 16);
}

// 25 MiB over 16 GPUs and 8 channels: blocks of 204,800 bytes, 50 packets.
TEST(SizeMessages, BlocksOfManyGpusAreShorterThanASlice) {
  EXPECT_DOUBLE_EQ(figure_of({}, "message_bytes"), 204'800);
  EXPECT_DOUBLE_EQ(figure_of({}, "packets"), 50);
}

TEST(SizeMessages, EachUnitIsAPartOfTheOneBefore) {
  for (double bucket = 1e4; bucket < 1e11; bucket *= 7) {
    for (const uint64_t gpus : {2, 16, 1'024}) {
      for (const bool splits : {false, true}) {
        const MessagesQuestion question{
            .bucket_bytes = bucket, .gpus = gpus, .queue_pairs = 4, .splits = splits};
        EXPECT_LE(figure_of(question, "block_bytes"), bucket);
        EXPECT_LE(figure_of(question, "chunk_bytes"), figure_of(question, "block_bytes"));
        EXPECT_LE(figure_of(question, "slice_bytes"), figure_of(question, "chunk_bytes"));
        EXPECT_LE(figure_of(question, "message_bytes"), figure_of(question, "slice_bytes"));
        EXPECT_GE(figure_of(question, "wire_bytes"), figure_of(question, "message_bytes"));
      }
    }
  }
}

TEST(SizeMessages, ImpossibleValuesAreRefused) {
  EXPECT_FALSE(size_messages({.gpus = 1}).has_value());
  EXPECT_FALSE(size_messages({.bucket_bytes = 0}).has_value());
}

}  // namespace
}  // namespace heddle::planner
