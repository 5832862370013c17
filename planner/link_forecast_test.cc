// Forecasts of link loads: what is steady or periodic is forecast, what is random is used little,
// and less the larger its error is.
#include "planner/link_forecast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "planner/shared_fabric.h"
#include "topology/generators.h"

namespace heddle::planner {
namespace {

constexpr size_t kIntervals = 120;

template <typename BytesAt>
LinkHistories histories(BytesAt bytes_at, size_t intervals = kIntervals, uint32_t links = 4) {
  LinkHistories histories{.interval = seconds(10), .links = {}};
  for (uint32_t link = 0; link < links; ++link) {
    LinkHistory history{.link = 2 * link, .bytes = {}};
    for (size_t i = 0; i < intervals; ++i) history.bytes.push_back(bytes_at(link, i));
    histories.links.push_back(std::move(history));
  }
  return histories;
}

TEST(LinkForecast, ASteadyLoadIsForecastAndUsed) {
  const LoadForecast forecast =
      forecast_loads(histories([](uint32_t link, size_t) { return 1e6 * (link + 1); }), 8);
  EXPECT_EQ(forecast.method, ForecastMethod::kSmoothed);
  EXPECT_EQ(forecast.links, 4U);
  EXPECT_NEAR(forecast.error, 0, 1e-9);
  EXPECT_NEAR(forecast.used, 1, 1e-9);
  EXPECT_NEAR(forecast.bytes_per_s[4], 3e5, 1);
  EXPECT_EQ(forecast.bytes_per_s[5], 0);
  EXPECT_NEAR(forecast.background(millis(500))[4], 1.5e5, 1);
}

TEST(LinkForecast, APeriodIsFound) {
  const LoadForecast forecast =
      forecast_loads(histories([](uint32_t, size_t i) { return i % 20 < 10 ? 1e6 : 1e4; }), 8);
  EXPECT_EQ(forecast.method, ForecastMethod::kPeriodic);
  EXPECT_EQ(forecast.period, 20U);
  EXPECT_LT(forecast.error, 0.01);
  EXPECT_NEAR(forecast.bytes_per_s[0], 1e5, 1e3);  // 120 is the beginning of a period
}

TEST(LinkForecast, APeriodInNoiseIsFound) {
  Random random(3);
  const auto noisy = [&random](uint32_t, size_t i) {
    return 1e6 + 8e5 * std::sin(static_cast<double>(i) * 6.2831853 / 15) +
           static_cast<double>(random.below(300'000));
  };
  const LoadForecast forecast = forecast_loads(histories(noisy), 8);
  EXPECT_EQ(forecast.period, 15U);
  EXPECT_EQ(forecast.method, ForecastMethod::kPeriodic);
  EXPECT_LT(forecast.error, 0.2);
}

TEST(LinkForecast, ALoadThatMovesIsFollowed) {
  const LoadForecast forecast =
      forecast_loads(histories([](uint32_t, size_t i) { return i < 70 ? 1e6 : 5e6; }), 8);
  EXPECT_NEAR(forecast.bytes_per_s[0], 5e5, 5e3);
}

// Rare large bursts at random: the error is above that of no forecast, and none of it is used.
TEST(LinkForecast, AUselessForecastIsNotUsed) {
  Random random(5);
  const LoadForecast forecast = forecast_loads(
      histories([&random](uint32_t, size_t) { return random.below(40) == 0 ? 1e9 : 0.0; }), 8);
  EXPECT_GT(forecast.error, 0.9);
  EXPECT_LT(forecast.used, 0.1);
  for (const double each : forecast.background(seconds(1))) {
    EXPECT_LE(each, 0.1 * 1e8);
  }
}

TEST(LinkForecast, MoreNoiseIsUsedLess) {
  double before = 1.1;
  for (const double spread : {0.0, 0.5, 1.0, 2.0}) {
    Random random(7);
    const LoadForecast forecast =
        forecast_loads(histories([&](uint32_t, size_t) {
                         const double noise = static_cast<double>(random.below(2'001)) / 1'000 - 1;
                         return std::max(1e6 * (1 + spread * noise), 0.0);
                       }),
                       8);
    EXPECT_LT(forecast.used, before) << spread;
    before = forecast.used;
  }
}

TEST(LinkForecast, SprayingSuitsBesideLoadsThatAreForecastWrong) {
  const topology::Topology topology =
      topology::leaf_spine({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const Fabric fabric(topology, {});
  std::vector<double> bytes_per_s(fabric.links(), 1e18);  // of NICs, too, which do not count
  for (LinkId link = 0; link < fabric.links(); ++link) {
    if (fabric.is_between_switches(link)) bytes_per_s[link] = 0.1e9 * fabric.rate(link);
  }
  std::vector<LinkId> known(fabric.links());
  std::iota(known.begin(), known.end(), 0);
  const double share = share_of_capacity(topology, bytes_per_s, known);
  EXPECT_NEAR(share, 0.1, 1e-9);
  std::erase_if(known, [](LinkId link) { return link % 2 == 1; });  // no capacity that is free
  EXPECT_NEAR(share_of_capacity(topology, bytes_per_s, known), 0.1, 1e-9);
  EXPECT_EQ(share_of_capacity(topology, bytes_per_s, {}), 0);
  LoadForecast forecast;
  forecast.error = 0.1;
  EXPECT_FALSE(spraying_suits(forecast, share));
  forecast.error = 0.3;
  EXPECT_TRUE(spraying_suits(forecast, share));
}

TEST(LinkForecast, TooFewIntervalsAreNoForecast) {
  for (size_t intervals = 0; intervals < 8; ++intervals) {
    const LoadForecast forecast =
        forecast_loads(histories([](uint32_t, size_t) { return 1e6; }, intervals), 8);
    EXPECT_EQ(forecast.method, ForecastMethod::kTooShort);
    EXPECT_EQ(forecast.used, 0);
  }
  EXPECT_EQ(forecast_loads({}, 8).used, 0);
  EXPECT_EQ(forecast_loads(histories([](uint32_t, size_t) { return 0.0; }), 8).used, 0);
}

}  // namespace
}  // namespace heddle::planner
