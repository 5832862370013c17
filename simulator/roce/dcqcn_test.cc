// DCQCN's reaction point against the steps of its paper.
#include "simulator/roce/dcqcn.h"

#include <gtest/gtest.h>

namespace heddle::simulator::roce {
namespace {

constexpr BitsPerSec kLine = gigabits_per_s(40);

// In units of 1 Mb/s.
uint64_t megabits(BitsPerSec rate) { return rate.count / 1'000'000; }

TEST(DcqcnTest, StartsAtLineRate) {
  Dcqcn point({}, kLine);
  EXPECT_EQ(point.rate({}), kLine);
  EXPECT_EQ(point.rate(seconds(1)), kLine);
}

TEST(DcqcnTest, TheFirstCnpHalvesTheRateAndLaterOnesCutByHalfOfAlpha) {
  Dcqcn point({}, kLine);
  point.on_cnp(micros(1));
  EXPECT_EQ(megabits(point.rate(micros(1))), 20'000u) << "alpha was 1";
  EXPECT_EQ(point.target(), kLine);
  point.on_cnp(micros(51));
  EXPECT_EQ(megabits(point.rate(micros(51))), 10'000u) << "alpha stays 1 with a CNP in each K";
  EXPECT_EQ(megabits(point.target()), 20'000u);
}

TEST(DcqcnTest, AlphaDecaysWithoutCnps) {
  Dcqcn point({}, kLine);
  point.on_cnp({});
  static_cast<void>(point.rate(micros(55 * 177)));  // (1 - 1/256)^177 is a half
  EXPECT_NEAR(point.alpha(), 0.5, 0.002);
  point.on_cnp(micros(55 * 177));
  EXPECT_NEAR(point.alpha(), 0.502, 0.002) << "a CNP adds g (1 - alpha)";
}

TEST(DcqcnTest, FastRecoveryHalvesTheDistanceFiveTimesAndThenTheTargetRises) {
  Dcqcn point({}, kLine);
  point.on_cnp({});
  point.on_cnp({});  // target 20, rate 10
  uint64_t distance = 10'000;
  for (int64_t step = 1; step < 5; ++step) {
    distance /= 2;
    EXPECT_NEAR(static_cast<double>(megabits(point.rate(micros(55 * step)))),
                static_cast<double>(20'000 - distance), 1.0);
    EXPECT_EQ(megabits(point.target()), 20'000u);
  }
  static_cast<void>(point.rate(micros(55 * 5)));
  EXPECT_EQ(megabits(point.target()), 20'040u) << "additive increase of 40 Mb/s";
  static_cast<void>(point.rate(micros(55 * 15)));
  EXPECT_EQ(megabits(point.target()), 20'440u) << "the timer alone never hyper-increases";
}

TEST(DcqcnTest, HyperIncreaseNeedsBothTimerAndByteCounter) {
  Dcqcn point({.byte_counter = {1'000}}, kLine);
  point.on_cnp({});
  point.on_cnp({});
  static_cast<void>(point.rate(micros(55 * 6)));
  const uint64_t before = megabits(point.target());
  for (int i = 0; i < 5; ++i) point.on_sent(micros(55 * 6), 1'000);
  EXPECT_EQ(megabits(point.target()), before + 5 * 40) << "additive: the byte counter is at F";
  point.on_sent(micros(55 * 6), 1'000);
  EXPECT_EQ(megabits(point.target()), before + 5 * 40 + 400) << "both are above F";
}

TEST(DcqcnTest, RateStaysBetweenTheLeastRateAndTheLine) {
  Dcqcn point({}, kLine);
  for (int i = 0; i < 100; ++i) point.on_cnp(micros(50 * i));
  EXPECT_EQ(megabits(point.rate(micros(5'000))), 100u);
  EXPECT_EQ(point.rate(seconds(10)), kLine);
}

}  // namespace
}  // namespace heddle::simulator::roce
