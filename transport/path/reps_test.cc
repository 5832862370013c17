// Which path a burst takes: those that came through, as many bytes as came through, and what
// follows for links that several paths share.
#include "transport/path/reps.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <vector>

namespace heddle::transport {
namespace {

constexpr Bytes kBurst = {6'000};

std::vector<PathSample> quiet_paths(uint16_t count) {
  std::vector<PathSample> paths;
  for (uint16_t i = 0; i < count; ++i) paths.push_back({.path = i, .latest_rtt = micros(100)});
  return paths;
}

// Paths are hashed to links, each with its own queue. A window of bursts is in flight; each one
// acknowledged releases the next.
struct Fabric {
  explicit Fabric(std::vector<uint32_t> link_of_path, std::vector<int64_t> service_us)
      : links(std::move(link_of_path)), service(std::move(service_us)) {
    samples = quiet_paths(static_cast<uint16_t>(links.size()));
    free_at.resize(service.size());
    bursts.resize(service.size());
  }

  void send(Selector& selector) {
    const uint32_t p = selector.select(samples, random);
    const uint32_t link = links[p];
    free_at[link] = std::max(free_at[link], now) + micros(service[link]);
    const Burst burst{static_cast<uint16_t>(p), now, free_at[link] + micros(50)};
    auto at = under_way.begin();
    while (at != under_way.end() && at->back_at <= burst.back_at) ++at;
    under_way.insert(at, burst);
    samples[p].in_flight.count += kBurst.count;
    selector.on_sent(static_cast<uint16_t>(p), kBurst);
    ++bursts[link];
  }

  // The next burst is acknowledged, marked if its queueing delay was above `marks_above`.
  void receive(Selector& selector, Nanos marks_above = seconds(1)) {
    const Burst burst = under_way.front();
    under_way.pop_front();
    now = burst.back_at;
    PathSample& sample = samples[burst.path];
    sample.latest_rtt = now - burst.sent_at;
    sample.in_flight.count -= kBurst.count;
    sample.marked = sample.latest_rtt > marks_above;
    selector.on_ack(burst.path, sample, kBurst);
  }

  // Shares of the links of what leaves while `count` bursts come back.
  std::vector<double> run(Selector& selector, int window, int count) {
    while (static_cast<int>(under_way.size()) < window) send(selector);
    for (int i = 0; i < count; ++i) {
      receive(selector);
      send(selector);
    }
    std::fill(bursts.begin(), bursts.end(), 0);
    for (int i = 0; i < count; ++i) {
      receive(selector);
      send(selector);
    }
    std::vector<double> shares;
    for (const uint64_t sent : bursts) shares.push_back(double(sent) / count);
    return shares;
  }

  struct Burst {
    uint16_t path;
    Nanos sent_at;
    Nanos back_at;
  };
  std::vector<uint32_t> links;
  std::vector<int64_t> service;
  std::vector<PathSample> samples;
  std::vector<Nanos> free_at;
  std::vector<uint64_t> bursts;
  std::deque<Burst> under_way;
  Nanos now = seconds(1);
  Random random{7};
};

// Two choices by delay would send most where most paths are.
TEST(Reps, LinksAreUsedAsTheyCarryHoweverManyPathsTheyHave) {
  Reps reps;
  Fabric fabric({0, 0, 0, 0, 0, 1, 2, 2}, {100, 100, 100});
  for (const double share : fabric.run(reps, 60, 20'000)) EXPECT_NEAR(share, 1 / 3.0, 0.02);
}

TEST(Reps, ALinkAtAQuarterOfTheRateGetsAQuarterOfTheBursts) {
  Reps reps;
  Fabric fabric({0, 1, 2, 3, 0, 1, 2, 3}, {400, 100, 100, 100});
  const std::vector<double> shares = fabric.run(reps, 60, 20'000);
  EXPECT_NEAR(shares[0], 0.25 / 3.25, 0.02);
  for (size_t link = 1; link < 4; ++link) EXPECT_NEAR(shares[link], 1 / 3.25, 0.02);
}

TEST(Reps, NoLinkRunsEmptyWhereTheWindowIsEnoughForAll) {
  Reps reps;
  Fabric fabric({0, 1, 2, 3, 3, 3, 3, 3}, {100, 100, 100, 100});
  fabric.run(reps, 40, 20'000);
  const Nanos began = fabric.now;
  const std::vector<double> shares = fabric.run(reps, 40, 20'000);
  const double rounds = 40'000 / 4.0;  // at most, were all links always busy
  EXPECT_LT(double((fabric.now - began).count), rounds * 100'000 * 1.03);
}

TEST(Reps, AnUnmarkedPathIsReusedAndAMarkedOneIsLeft) {
  Reps reps;
  Random random(1);
  std::vector<PathSample> paths = quiet_paths(16);
  for (PathSample& path : paths) path.in_flight = {1};  // so that nothing promises more
  for (int i = 0; i < 100; ++i) {
    reps.on_ack(5, paths[5], kBurst);
    EXPECT_EQ(reps.select(paths, random), 5u);
    reps.on_sent(5, kBurst);
  }
  paths[5].marked = true;
  reps.on_ack(5, paths[5], kBurst);
  std::array<int, 16> times{};
  for (int i = 0; i < 160; ++i) ++times[reps.select(paths, random)];
  EXPECT_LT(times[5], 30) << "a marked burst is not recycled";
}

TEST(Reps, APathThatMayNotBeUsedIsPassedOver) {
  Reps reps;
  Random random(1);
  std::vector<PathSample> paths = quiet_paths(4);
  for (PathSample& path : paths) path.in_flight = {1};
  reps.on_ack(2, paths[2], kBurst);
  reps.on_ack(3, paths[3], kBurst);
  paths.erase(paths.begin() + 2);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(paths[reps.select(paths, random)].path, 3);
}

TEST(Reps, AnIdlePathIsTriedAgainWhenItsMeasureIsOldOrLow) {
  for (const bool stale : {true, false}) {
    Reps reps;
    Random random(1);
    std::vector<PathSample> paths = quiet_paths(2);
    paths[0].in_flight = {1};
    paths[0].latest_rtt = stale ? micros(100) : micros(200);
    paths[1].stale = stale;
    int other = 0;
    for (int i = 0; i < 800; ++i) {
      reps.on_ack(0, paths[0], kBurst);
      const uint32_t at = reps.select(paths, random);
      other += at == 1 ? 1 : 0;
      reps.on_sent(static_cast<uint16_t>(at), kBurst);
    }
    EXPECT_GT(other, 20);
    EXPECT_LT(other, 200) << "delays are told late: not all may follow them at once";
  }
}

}  // namespace
}  // namespace heddle::transport
