// What a 32-bit time must keep of a 64-bit one.
#include "transport/path/coarse_time.h"

#include <gtest/gtest.h>

namespace heddle::transport {
namespace {

TEST(CoarseTime, NeverIsNeverDue) {
  for (const CoarseTime time : {CoarseTime(), CoarseTime(Nanos::never())}) {
    EXPECT_FALSE(time.due(Nanos{}));
    EXPECT_FALSE(time.due(seconds(1'000'000)));
    EXPECT_EQ(time.near(seconds(5)), Nanos::never());
  }
}

TEST(CoarseTime, IsDueNeverTooEarlyAndWithinAStep) {
  for (int64_t at = 5'000'000'000'000; at < 5'000'000'010'000; at += 7) {
    const CoarseTime time(Nanos{at});
    EXPECT_FALSE(time.due(Nanos{at - 1'025}));
    const Nanos due = time.near(Nanos{at - 500'000});
    EXPECT_GE(due, Nanos{at});
    EXPECT_LT(due, Nanos{at + 1'024});
    EXPECT_TRUE(time.due(due));
    EXPECT_FALSE(time.due(due - nanos(1)));
    EXPECT_EQ(time.near(due + seconds(1)), due);
  }
}

TEST(CoarseTime, HoldsWhereTheStepsWrap) {
  const Nanos wrap{(int64_t{1} << 32) << 10};
  for (const Nanos at : {wrap - micros(5), wrap, wrap + micros(5)}) {
    const CoarseTime time(at);
    EXPECT_FALSE(time.due(at - seconds(60)));
    EXPECT_TRUE(time.due(at + micros(2)));
    EXPECT_TRUE(time.due(at + seconds(60)));
    EXPECT_LE(time.near(at - seconds(60)) - at, micros(2));
    EXPECT_GE(time.near(at - seconds(60)), at);
  }
}

}  // namespace
}  // namespace heddle::transport
