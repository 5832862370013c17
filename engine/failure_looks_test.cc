// After which failures of paths a plan and the routes are looked at.
#include "engine/failure_looks.h"

#include <gtest/gtest.h>

namespace heddle::engine {
namespace {

TEST(FailureLooks, AFailureIsLookedAtOnce) {
  FailureLooks looks;
  EXPECT_FALSE(looks.begin(millis(10), 0));
  EXPECT_TRUE(looks.begin(millis(20), 1));
  EXPECT_TRUE(looks.settling(seconds(5)));
  EXPECT_FALSE(looks.begin(seconds(4), 1));
  EXPECT_FALSE(looks.settling(millis(5'020)));
  EXPECT_FALSE(looks.begin(millis(5'020), 1));
}

TEST(FailureLooks, OneShortlyAfterAnotherIsLookedAtWhenThatHasSettled) {
  FailureLooks looks;
  EXPECT_TRUE(looks.begin(seconds(1), 1));
  EXPECT_FALSE(looks.begin(millis(5'900), 2));
  EXPECT_TRUE(looks.begin(seconds(6), 2));
}

TEST(FailureLooks, APathThatFailsAllTheTimeIsLookedAtOnceAMinute) {
  FailureLooks looks;
  int begun = 0;
  for (uint64_t second = 1; second <= 600; ++second) {
    if (looks.begin(seconds(static_cast<int64_t>(second)), second)) ++begun;
  }
  EXPECT_EQ(begun, 3 + 9);  // at 1, 6, 26 s, and then once a minute
  // After a quiet time as at first.
  EXPECT_TRUE(looks.begin(seconds(1'000), 1'000));
  EXPECT_FALSE(looks.settling(seconds(1'005)));
}

}  // namespace
}  // namespace heddle::engine
