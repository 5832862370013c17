// What the scheduler packs into three bytes of a path, and the age of samples.
#include "transport/path/path_share.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "transport/path/path_aging.h"

namespace heddle::transport {
namespace {

TEST(PathShareTest, EveryPlaceOfAConnectionsPathsIsKept) {
  PathShare share;
  share.set_recent_losses(5, 200);
  share.set_marked(true);
  for (uint32_t place = 0; place < PathShare::kMostPaths; ++place) {
    share.set_place(place);
    ASSERT_EQ(share.place(), place);
  }
  EXPECT_EQ(share.recent_losses(), 5);
  EXPECT_EQ(share.sampled_in(), 200);
  EXPECT_TRUE(share.marked());
  EXPECT_FALSE(share.excluded());
}

TEST(PathShareTest, RecentLossesSaturateAndAreForgottenOneByOne) {
  PathShare share;
  share.set_recent_losses(1000, 1);
  for (int left = PathShare::kMostRecentLosses; left > 0; --left) {
    ASSERT_EQ(share.recent_losses(), left);
    share.forget_one_loss();
  }
  share.forget_one_loss();
  EXPECT_EQ(share.recent_losses(), 0);
}

TEST(PathAgingTest, ASampleIsStaleAfterItsPhasesAndNotBefore) {
  for (const Nanos trip : {micros(1), micros(100), millis(10)}) {
    const Nanos phase = std::max(params::kPhaseTrips * trip, params::kShortestPhase);
    PathAging aging;
    Nanos now = seconds(1);
    aging.open(now, trip);
    const uint8_t sampled = aging.phase();
    for (int i = 0; i < params::kStaleAge; ++i) {
      EXPECT_FALSE(aging.stale(sampled)) << i;
      now += phase;
      aging.advance(now, trip);
    }
    EXPECT_TRUE(aging.stale(sampled));
  }
}

TEST(PathAgingTest, AfterALongPauseAllSamplesAreStale) {
  PathAging aging;
  aging.open(seconds(1), micros(100));
  const uint8_t sampled = aging.phase();
  aging.advance(seconds(1000), micros(100));
  EXPECT_TRUE(aging.stale(sampled));
  EXPECT_LE(aging.age(sampled), params::kMostPhases);
}

TEST(PathAgingTest, ExpiringMakesEarlierSamplesStaleAndLaterOnesFresh) {
  PathAging aging;
  aging.open(seconds(1), micros(100));
  const uint8_t before = aging.phase();
  aging.expire();
  EXPECT_TRUE(aging.stale(before));
  EXPECT_FALSE(aging.stale(aging.phase()));
}

}  // namespace
}  // namespace heddle::transport
