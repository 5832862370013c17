// The shares of a plan, also where paths are missing for a while, and REPS without them.
#include "transport/path/planned.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace heddle::transport {
namespace {

std::vector<PathSample> paths_of(const std::vector<uint16_t>& numbers) {
  std::vector<PathSample> paths;
  for (const uint16_t number : numbers) paths.push_back({.path = number});
  return paths;
}

std::map<uint16_t, int> bursts(Planned& selector, const std::vector<PathSample>& paths, int count) {
  Random random(1);
  std::map<uint16_t, int> sent;
  for (int i = 0; i < count; ++i) {
    const uint16_t path = paths[selector.select(paths, random)].path;
    selector.on_sent(path, {8'192});
    ++sent[path];
  }
  return sent;
}

using Sent = std::map<uint16_t, int>;

TEST(Planned, PathsGetTheirShares) {
  Planned selector;
  selector.set_shares(std::vector<PlannedShare>{{2, 750'000}, {5, 250'000}});
  EXPECT_EQ(bursts(selector, paths_of({0, 1, 2, 3, 4, 5}), 400), (Sent{{2, 300}, {5, 100}}));
}

TEST(Planned, APathWhoseQueueIsLongGetsLess) {
  Planned selector;
  selector.set_shares(std::vector<PlannedShare>{{0, 500'000}, {1, 500'000}});
  std::vector<PathSample> paths = paths_of({0, 1});
  for (PathSample& path : paths) {
    path.latest_rtt = micros(10);
    selector.on_ack(path.path, path, {0});
  }
  paths[0].latest_rtt = micros(40);
  paths[0].in_flight = {200'000};
  paths[1].in_flight = {50'000};
  const Sent queued = bursts(selector, paths, 100);
  EXPECT_GE(queued.at(1), queued.at(0) + 10);
  EXPECT_LE(queued.at(1), queued.at(0) + 20);
  // What it lacks of its share follows once the queue is gone.
  paths[0].latest_rtt = micros(10);
  const Sent after = bursts(selector, paths, 100);
  EXPECT_EQ(queued.at(0) + after.at(0), 100);
}

TEST(Planned, ALongPathWithoutAQueueGetsItsShare) {
  Planned selector;
  selector.set_shares(std::vector<PlannedShare>{{0, 500'000}, {1, 500'000}});
  std::vector<PathSample> paths = paths_of({0, 1});
  paths[0].latest_rtt = millis(3);
  paths[0].in_flight = {18'000'000};
  paths[1].latest_rtt = micros(10);
  paths[1].in_flight = {60'000};
  for (const PathSample& path : paths) selector.on_ack(path.path, path, {0});
  EXPECT_EQ(bursts(selector, paths, 400), (Sent{{0, 200}, {1, 200}}));
}

TEST(Planned, APathThatReturnsMakesUpForLittle) {
  Planned selector;
  selector.set_shares(std::vector<PlannedShare>{{0, 500'000}, {1, 500'000}});
  EXPECT_EQ(bursts(selector, paths_of({0}), 10'000), (Sent{{0, 10'000}}));
  const Sent after = bursts(selector, paths_of({0, 1}), 400);
  EXPECT_LE(after.at(1), 200 + 64);
}

TEST(Planned, WithoutAPlannedPathItAdapts) {
  Planned selector;
  EXPECT_EQ(bursts(selector, paths_of({7, 8}), 10).size(), 2U);
  selector.set_shares(std::vector<PlannedShare>{{1, 1'000'000}});
  EXPECT_EQ(bursts(selector, paths_of({7, 8}), 10).count(1), 0U);
  EXPECT_EQ(bursts(selector, paths_of({1, 7, 8}), 10), (Sent{{1, 10}}));
}

}  // namespace
}  // namespace heddle::transport
