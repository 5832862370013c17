// Rows end where they are lost whole, and only there; they are tried again later.
#include "transport/send/row_limit.h"

#include <gtest/gtest.h>

namespace heddle::transport {
namespace {

class RowLimitTest : public testing::Test {
 protected:
  // A round: rows leave and are lost, a probe behind them arrives or does not.
  bool lose_a_round(bool probe_arrives = true) {
    now_ += millis(1);
    if (probe_arrives) limit_.on_acked(1);
    const bool ended = limit_.on_row_lost(now_, now_ + micros(10));
    limit_.on_row_lost(now_ + micros(5), now_ + micros(10));  // another row of the same round
    return ended;
  }
  void end_rows() {
    for (uint32_t i = 1; i < RowLimit::kRounds; ++i) ASSERT_FALSE(lose_a_round());
    ASSERT_TRUE(lose_a_round());
  }
  uint64_t singles_until_rows() {
    uint64_t singles = 0;
    for (; limit_.most() == 1; ++singles) limit_.on_acked(1);
    return singles;
  }

  RowLimit limit_;
  Nanos now_ = seconds(1);
};

TEST_F(RowLimitTest, RowsEndWhereOnlySinglePacketsArrive) {
  EXPECT_EQ(limit_.most(), kMaxBurstSegments);
  end_rows();
  EXPECT_EQ(limit_.most(), 1u);
}

TEST_F(RowLimitTest, RowsGoOnWhereSomeArrive) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(lose_a_round());
    EXPECT_FALSE(lose_a_round());
    limit_.on_acked(7);
  }
}

TEST_F(RowLimitTest, AnOutageOfEverythingEndsNoRows) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(lose_a_round(false));
  EXPECT_EQ(limit_.most(), kMaxBurstSegments);
}

TEST_F(RowLimitTest, RowsAreTriedAgainLaterAndLater) {
  end_rows();
  EXPECT_EQ(singles_until_rows(), RowLimit::kFirstPatience);
  end_rows();
  EXPECT_EQ(singles_until_rows(), 4 * RowLimit::kFirstPatience);
  limit_.on_acked(2);  // a row arrived: whatever it was is over
  end_rows();
  EXPECT_EQ(singles_until_rows(), RowLimit::kFirstPatience);
}

}  // namespace
}  // namespace heddle::transport
