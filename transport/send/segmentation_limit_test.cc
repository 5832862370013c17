// Segments leave one by one where whole bursts are lost, and only there; bursts are tried again
// later.
#include "transport/send/segmentation_limit.h"

#include <gtest/gtest.h>

namespace heddle::transport {
namespace {

class SegmentationLimitTest : public testing::Test {
 protected:
  // A round: bursts leave and are lost, a probe behind them arrives or does not.
  bool lose_a_round(bool probe_arrives = true) {
    now_ += millis(1);
    if (probe_arrives) limit_.on_acked(1);
    const bool ended = limit_.on_burst_lost(now_, now_ + micros(10));
    limit_.on_burst_lost(now_ + micros(5), now_ + micros(10));  // another burst of the same round
    return ended;
  }
  void end_rows() {
    for (uint32_t i = 1; i < SegmentationLimit::kRounds; ++i) ASSERT_FALSE(lose_a_round());
    ASSERT_TRUE(lose_a_round());
  }
  uint64_t singles_until_bursts() {
    uint64_t singles = 0;
    for (; limit_.most() == 1; ++singles) limit_.on_acked(1);
    return singles;
  }

  SegmentationLimit limit_;
  Nanos now_ = seconds(1);
};

TEST_F(SegmentationLimitTest, BurstsEndWhereOnlySinglePacketsArrive) {
  EXPECT_EQ(limit_.most(), kMaxBurstSegments);
  end_rows();
  EXPECT_EQ(limit_.most(), 1u);
}

TEST_F(SegmentationLimitTest, BurstsGoOnWhereSomeArrive) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(lose_a_round());
    EXPECT_FALSE(lose_a_round());
    limit_.on_acked(7);
  }
}

TEST_F(SegmentationLimitTest, AnOutageOfAllPacketsEndsNoBursts) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(lose_a_round(false));
  EXPECT_EQ(limit_.most(), kMaxBurstSegments);
}

TEST_F(SegmentationLimitTest, BurstsAreTriedAgainLaterAndLater) {
  end_rows();
  EXPECT_EQ(singles_until_bursts(), SegmentationLimit::kFirstSingles);
  end_rows();
  EXPECT_EQ(singles_until_bursts(), 4 * SegmentationLimit::kFirstSingles);
  limit_.on_acked(2);  // a burst arrived: the cause is gone
  end_rows();
  EXPECT_EQ(singles_until_bursts(), SegmentationLimit::kFirstSingles);
}

}  // namespace
}  // namespace heddle::transport
