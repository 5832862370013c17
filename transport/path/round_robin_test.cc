// Every usable path in turn, also while paths come and go.
#include "transport/path/round_robin.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::transport {
namespace {

std::vector<PathSample> paths_of(const std::vector<uint16_t>& numbers) {
  std::vector<PathSample> paths;
  for (const uint16_t number : numbers) paths.push_back({.path = number});
  return paths;
}

std::vector<uint16_t> turns(RoundRobin& selector, const std::vector<PathSample>& paths, int count) {
  Random random(1);
  std::vector<uint16_t> taken;
  for (int i = 0; i < count; ++i) taken.push_back(paths[selector.select(paths, random)].path);
  return taken;
}

using Numbers = std::vector<uint16_t>;

TEST(RoundRobin, TakesEveryPathInTurn) {
  RoundRobin selector;
  EXPECT_EQ(turns(selector, paths_of({0, 1, 2, 3}), 9), (Numbers{0, 1, 2, 3, 0, 1, 2, 3, 0}));
}

TEST(RoundRobin, TheOrderOfTheSamplesDoesNotMatter) {
  RoundRobin selector;
  EXPECT_EQ(turns(selector, paths_of({7, 2, 65'535, 0}), 6), (Numbers{0, 2, 7, 65'535, 0, 2}));
}

TEST(RoundRobin, APathThatLeavesOrReturnsDoesNotChangeWhoseTurnItIs) {
  RoundRobin selector;
  EXPECT_EQ(turns(selector, paths_of({0, 1, 2, 3}), 2), (Numbers{0, 1}));
  EXPECT_EQ(turns(selector, paths_of({0, 1, 3}), 2), (Numbers{3, 0}));
  EXPECT_EQ(turns(selector, paths_of({3, 0, 1, 2}), 3), (Numbers{1, 2, 3}));
  EXPECT_EQ(turns(selector, paths_of({2}), 2), (Numbers{2, 2}));
}

}  // namespace
}  // namespace heddle::transport
