// Link watch: highest rates of readings.
#include "acceptance/link_watch.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

lab::MeterReading reading(int64_t ms, uint64_t forward, uint64_t backward) {
  return {millis(ms), {{forward, backward}}};
}

TEST(LinkWatch, KeepsTheHighestRateOfEachDirection) {
  std::vector<CarriedLoad> loads(1);
  raise_peaks(reading(0, 0, 0), reading(200, 2'500'000, 0), loads);  // 100 Mbit/s
  raise_peaks(reading(200, 2'500'000, 0), reading(400, 3'000'000, 250'000), loads);
  EXPECT_DOUBLE_EQ(loads[0].forward.peak_bits_per_s, 100e6);
  EXPECT_DOUBLE_EQ(loads[0].backward.peak_bits_per_s, 10e6);
}

TEST(LinkWatch, CountersThatBeganAnewAreNoRate) {
  std::vector<CarriedLoad> loads(1);
  raise_peaks(reading(0, 9'000'000, 0), reading(200, 1'000, 0), loads);
  raise_peaks(reading(200, 0, 0), reading(200, 1'000, 0), loads);  // no time has passed
  EXPECT_DOUBLE_EQ(loads[0].forward.peak_bits_per_s, 0);
}

}  // namespace
}  // namespace heddle::acceptance
