// PayloadPlacer: which copies bring the new bytes of a burst to their place.
#include "transport/messages/placement.h"

#include <gtest/gtest.h>

#include <array>

namespace heddle::transport {
namespace {

constexpr RegionId kEagerRegion = 1;
constexpr RegionId kBuffer = 2;
constexpr uint32_t kStep = 10;  // payload of a segment

class PlacementTest : public ::testing::Test {
 protected:
  // A burst of `segments` full segments in a frame, for bytes from `offset` on.
  DataBurst burst(uint32_t segments, uint32_t offset) {
    run_.frame = frame_.data();
    run_.segments = segments;
    run_.segment_bytes = run_.last_segment_bytes = kDataHeaderBytes + kStep;
    DataBurst burst;
    burst.header.offset = offset;
    burst.segments = segments;
    burst.step = burst.last = kStep;
    burst.run = &run_;
    return burst;
  }
  static InMessage posted() {
    InMessage message;
    message.buffer = {kBuffer, 1000, 500};
    message.posted = true;
    return message;
  }

  std::array<std::byte, 1024> frame_{};
  RxRun run_;
  EagerBlocks eager_{kEagerRegion, {200}, 100};
  std::vector<Placement> placements_;
  PayloadPlacer placer_{eager_, placements_};
};

TEST_F(PlacementTest, ANewBurstIsOneCopyIntoTheBuffer) {
  placer_.place(posted(), burst(3, 40), 3 * kStep);
  ASSERT_EQ(placements_.size(), 1u);
  EXPECT_EQ(placements_[0].segments, 3u);
  EXPECT_EQ(placements_[0].to_region, kBuffer);
  EXPECT_EQ(placements_[0].to_offset, 1040u);
  EXPECT_EQ(placements_[0].source, frame_.data() + kDataHeaderBytes);
  EXPECT_EQ(placements_[0].source_step, kDataHeaderBytes + kStep);
}

TEST_F(PlacementTest, OnlyBytesThatAreNewAreCopied) {
  InMessage message = posted();
  message.received.add(45, 62);
  placer_.place(message, burst(3, 40), 3 * kStep - 17);
  ASSERT_EQ(placements_.size(), 2u);
  EXPECT_EQ(placements_[0].to_offset, 1040u);
  EXPECT_EQ(placements_[0].bytes, 5u);
  EXPECT_EQ(placements_[1].to_offset, 1062u);
  EXPECT_EQ(placements_[1].bytes, 8u);
  EXPECT_EQ(placements_[1].source,
            frame_.data() + 2 * (kDataHeaderBytes + kStep) + kDataHeaderBytes + 2);
}

TEST_F(PlacementTest, BytesThatAPredictionHasPlacedAreNotCopied) {
  DataBurst arrived = burst(2, 0);
  run_.payload_at = PayloadAt::kPlaced;
  run_.place = {kBuffer, 1000, 2 * kStep};
  placer_.place(posted(), arrived, 2 * kStep);
  EXPECT_TRUE(placements_.empty());
  run_.place.offset = 1001;  // the prediction was wrong
  placer_.place(posted(), arrived, 2 * kStep);
  EXPECT_EQ(placements_.size(), 1u);
}

TEST_F(PlacementTest, AMessageWithoutReceiveWaitsInAnEagerBlock) {
  InMessage message;
  message.started = true;
  placer_.lend_block(message);
  ASSERT_NE(message.eager_block, kNoIndex);
  placer_.place(message, burst(1, 20), kStep);
  EXPECT_EQ(placements_[0].to_region, kEagerRegion);
  EXPECT_EQ(placements_[0].to_offset, eager_.place(message.eager_block).offset + 20);
}

TEST_F(PlacementTest, EagerRangesMoveToTheirOffsetsInTheBuffer) {
  InMessage message = posted();
  placer_.lend_block(message);
  const uint32_t left = eager_.left();
  const uint64_t block = eager_.place(message.eager_block).offset;
  message.received.add(0, 10);
  message.received.add(30, 50);
  placer_.move_from_eager(message);
  ASSERT_EQ(placements_.size(), 2u);
  EXPECT_EQ(placements_[1].from.offset, block + 30);
  EXPECT_EQ(placements_[1].to_offset, 1030u);
  EXPECT_EQ(placements_[1].bytes, 20u);
  EXPECT_EQ(message.eager_block, kNoIndex);
  EXPECT_EQ(eager_.left(), left + 1);
}

TEST_F(PlacementTest, EagerBytesOfAFailedMessageAreDropped) {
  InMessage message = posted();
  placer_.lend_block(message);
  message.received.add(0, 10);
  message.failed = true;
  placer_.move_from_eager(message);
  EXPECT_TRUE(placements_.empty());
  EXPECT_EQ(eager_.left(), 2u);
}

TEST_F(PlacementTest, EachBlockIsLentOnce) {
  const uint32_t one = eager_.lend();
  const uint32_t two = eager_.lend();
  EXPECT_NE(one, two);
  EXPECT_EQ(eager_.lend(), kNoIndex);
  eager_.give_back(one);
  EXPECT_EQ(eager_.lend(), one);
}

}  // namespace
}  // namespace heddle::transport
