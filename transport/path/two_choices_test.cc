// Which path a burst takes: the better of two at random, and what follows from that for shares.
#include "transport/path/two_choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace heddle::transport {
namespace {

std::vector<PathSample> equal_paths(uint16_t count) {
  std::vector<PathSample> paths;
  for (uint16_t i = 0; i < count; ++i) {
    paths.push_back({.path = i, .latest_rtt = micros(100)});
  }
  return paths;
}

// How often each path is chosen in `draws`, when nothing about the paths changes.
std::vector<uint32_t> chosen(const std::vector<PathSample>& paths, int draws, uint64_t seed = 1) {
  TwoChoices selector;
  Random random(seed);
  std::vector<uint32_t> count(paths.size());
  for (int i = 0; i < draws; ++i) ++count[selector.select(paths, random)];
  return count;
}

// Paths as queues of their own: each serves a burst in its time, its delay is what stands before
// it. Bursts arrive `load` per mille as fast as all paths together can serve them. Returns each
// path's share.
std::vector<double> shares_of_queues(const std::vector<int64_t>& service_us, int64_t load,
                                     Selector& selector) {
  struct Queue {
    Nanos free_at;
    std::vector<std::pair<Nanos, Nanos>> out;  // (when it returns, its round trip)
    uint64_t bursts = 0;
  };
  const auto count = static_cast<uint16_t>(service_us.size());
  std::vector<PathSample> samples = equal_paths(count);
  std::vector<Queue> queues(count);
  double capacity = 0;  // bursts a microsecond
  for (const int64_t time : service_us) capacity += 1.0 / double(time);
  const Nanos gap{static_cast<int64_t>(1'000 / capacity * 1'000 / double(load))};
  Random random(5);
  constexpr int kBursts = 40'000;
  for (int i = 0; i < kBursts; ++i) {
    const Nanos now = gap * i;
    for (uint16_t p = 0; p < count; ++p) {
      auto& out = queues[p].out;
      while (!out.empty() && out.front().first <= now) {
        samples[p].latest_rtt = out.front().second;
        samples[p].in_flight.count -= 64'000;
        out.erase(out.begin());
      }
    }
    const uint32_t p = selector.select(samples, random);
    Queue& queue = queues[p];
    queue.free_at = std::max(queue.free_at, now) + micros(service_us[p]);
    const Nanos returns = queue.free_at + micros(50);
    queue.out.emplace_back(returns, returns - now);
    samples[p].in_flight.count += 64'000;
    ++queue.bursts;
  }
  std::vector<double> shares;
  for (const Queue& queue : queues) shares.push_back(double(queue.bursts) / kBursts);
  return shares;
}

TEST(TwoChoices, EqualPathsGetEqualShares) {
  for (const uint16_t count : {2, 8, 64}) {
    const int draws = 20'000 * count;
    for (const uint32_t times : chosen(equal_paths(count), draws)) {
      EXPECT_NEAR(times, 20'000, 20'000 * 0.05) << count << " paths";
    }
  }
}

// Without a band that counts as equal, whichever of eight measured least would get a quarter.
TEST(TwoChoices, PathsThatDifferByNoiseGetEqualSharesToo) {
  std::vector<PathSample> paths = equal_paths(8);
  for (size_t i = 0; i < paths.size(); ++i) paths[i].latest_rtt += nanos(1'500) * int64_t(i);
  for (const uint32_t times : chosen(paths, 160'000)) EXPECT_NEAR(times, 20'000, 20'000 * 0.05);
}

TEST(TwoChoices, ASlowerPathGetsItsDrawsAgainstItselfOnly) {
  std::vector<PathSample> paths = equal_paths(8);
  paths[3].latest_rtt = micros(400);
  const std::vector<uint32_t> times = chosen(paths, 160'000);
  // One in 64 instead of one in 8; enough to see it recover.
  EXPECT_NEAR(times[3], 160'000 / 64, 160'000 / 64 * 0.1);
}

TEST(TwoChoices, OfTwoPathsTheSlowerGetsAQuarter) {
  std::vector<PathSample> paths = equal_paths(2);
  paths[0].latest_rtt = micros(400);
  EXPECT_NEAR(chosen(paths, 100'000)[0], 25'000, 1'000);
}

TEST(TwoChoices, APathFourTimesSlowerCarriesAClearlySmallerShareOfRealQueues) {
  TwoChoices selector;
  const std::vector<double> shares =
      shares_of_queues({20, 20, 20, 80, 20, 20, 20, 20}, 900, selector);
  const double fast = (1 - shares[3]) / 7;
  EXPECT_LT(shares[3], fast / 2);
  EXPECT_GT(shares[3], fast / 100) << "and is not forgotten";
}

TEST(TwoChoices, EqualQueuesShareWithinFivePerCent) {
  TwoChoices selector;
  for (const double share : shares_of_queues(std::vector<int64_t>(8, 20), 900, selector)) {
    EXPECT_NEAR(share, 0.125, 0.125 * 0.05);
  }
}

TEST(TwoChoices, UntriedPathsComeFirstEachOnce) {
  TwoChoices selector;
  Random random(3);
  std::vector<PathSample> paths = equal_paths(32);
  std::vector<bool> tried(32, true);
  for (const size_t i : {0, 5, 6, 17, 31}) {
    paths[i].latest_rtt = {};
    tried[i] = false;
  }
  for (int i = 0; i < 5; ++i) {
    const uint32_t at = selector.select(paths, random);
    EXPECT_FALSE(tried[at]);
    tried[at] = true;
    paths[at].in_flight = {64'000};
  }
  EXPECT_EQ(std::count(tried.begin(), tried.end(), true), 32);
}

TEST(TwoChoices, ATriedPathThatHasNotAnsweredYieldsToAnyThatHas) {
  std::vector<PathSample> paths = equal_paths(8);
  paths[2].latest_rtt = {};
  paths[2].in_flight = {1'500};
  for (PathSample& path : paths) path.in_flight.count += 64'000;
  EXPECT_NEAR(chosen(paths, 64'000)[2], 1'000, 150);
}

TEST(TwoChoices, AtEqualDelayTheOneWithLessInFlightWins) {
  std::vector<PathSample> paths = equal_paths(2);
  paths[0].in_flight = {128'000};
  paths[1].in_flight = {64'000};
  EXPECT_NEAR(chosen(paths, 100'000)[0], 25'000, 1'000);
}

TEST(TwoChoices, AtEqualDelayAMarkedPathLoses) {
  std::vector<PathSample> paths = equal_paths(2);
  paths[0].marked = true;
  paths[1].in_flight = {640'000};
  EXPECT_NEAR(chosen(paths, 100'000)[0], 25'000, 1'000);
}

TEST(TwoChoices, ALossyPathIsAsGoodAsOneWithLongerRoundTrips) {
  std::vector<PathSample> paths = equal_paths(2);
  paths[0].recent_losses = 1;  // like 200 us
  paths[1].latest_rtt = micros(150);
  EXPECT_NEAR(chosen(paths, 100'000)[0], 25'000, 1'000);
  paths[1].latest_rtt = micros(300);
  EXPECT_NEAR(chosen(paths, 100'000)[0], 75'000, 1'000);
  paths[0].recent_losses = UINT32_MAX;  // no overflow
  EXPECT_NEAR(chosen(paths, 100'000)[0], 25'000, 1'000);
}

TEST(TwoChoices, TheOnlyPathIsTaken) { EXPECT_EQ(chosen(equal_paths(1), 100)[0], 100u); }

TEST(TwoChoices, EqualSeedsMakeEqualChoices) {
  const std::vector<PathSample> paths = equal_paths(16);
  EXPECT_EQ(chosen(paths, 1'000, 9), chosen(paths, 1'000, 9));
  EXPECT_NE(chosen(paths, 1'000, 9), chosen(paths, 1'000, 10));
}

}  // namespace
}  // namespace heddle::transport
