// Arithmetic at the ends of the range.
#include "base/nanos.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

constexpr Nanos kFirst{std::numeric_limits<int64_t>::min()};

TEST(Nanos, SaturatingDifferenceClampsToTheRange) {
  EXPECT_EQ(saturating_difference(nanos(7), nanos(9)), nanos(-2));
  EXPECT_EQ(saturating_difference(Nanos::never(), nanos(1)), Nanos::never() - nanos(1));
  EXPECT_EQ(saturating_difference(Nanos::never(), nanos(-1)), Nanos::never());
  EXPECT_EQ(saturating_difference(Nanos::never(), kFirst), Nanos::never());
  EXPECT_EQ(saturating_difference(nanos(-2), Nanos::never()), kFirst);
  EXPECT_EQ(saturating_difference(kFirst, Nanos::never()), kFirst);
  EXPECT_EQ(saturating_difference(kFirst, kFirst), nanos(0));
}

}  // namespace
}  // namespace heddle
