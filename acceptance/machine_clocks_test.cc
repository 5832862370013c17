// Machine clocks: the offset of the shortest round trip, and its bound.
#include "acceptance/machine_clocks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace heddle::acceptance {
namespace {

ClockReading reading(int64_t asked_ms, int64_t answered_ms, int64_t there_ms) {
  return {millis(asked_ms), millis(answered_ms - asked_ms), millis(there_ms)};
}

TEST(MachineClocks, TheShortestRoundTripCountsAndBoundsTheError) {
  EXPECT_FALSE(clock_offset({}));
  const auto offset = clock_offset({reading(0, 900, 3'000), reading(1'000, 1'010, 3'004)});
  ASSERT_TRUE(offset);
  EXPECT_NEAR(offset->ahead_s, 1.999, 1e-9);
  EXPECT_NEAR(offset->error_s, 0.005, 1e-9);
}

// Question and answer may take different times: the true offset is within the bound.
TEST(MachineClocks, TheBoundHoldsHoweverUnevenTheTimesAre) {
  for (const int64_t ahead_ms : {-2'000, 0, 2'000}) {
    for (const int64_t there_ms : {0, 40, 100}) {
      const auto offset = clock_offset({reading(500, 600, 500 + there_ms + ahead_ms)});
      ASSERT_TRUE(offset);
      EXPECT_LE(std::abs(offset->ahead_s - static_cast<double>(ahead_ms) / 1e3),
                offset->error_s + 1e-9)
          << ahead_ms << " " << there_ms;
    }
  }
}

}  // namespace
}  // namespace heddle::acceptance
