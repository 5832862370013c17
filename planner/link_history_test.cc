// Counters as bytes in equal intervals: uneven readings, counters that begin anew, links that were
// read too little; and the loads of plans taken away.
#include "planner/link_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::planner {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

TEST(LinkHistory, CountersBecomeBytesInEqualIntervals) {
  std::vector<CounterReading> readings;
  for (int64_t i = 0; i <= 10; ++i) {
    const Nanos jitter = millis(i % 2 == 0 ? 0 : 100);  // of an even rate: interpolated away
    const Nanos at = seconds(1'000 + 10 * i) + jitter;
    readings.push_back({6, at, static_cast<uint64_t>(5'000 + at / millis(1) - 1'000'000)});
  }
  const LinkHistories histories = histories_of(readings);
  EXPECT_NEAR(to_seconds(histories.interval), 10, 0.11);
  ASSERT_THAT(histories.links, SizeIs(1));
  EXPECT_EQ(histories.links[0].link, 6U);
  EXPECT_GE(histories.links[0].bytes.size(), 9U);
  EXPECT_THAT(histories.links[0].bytes,
              Each(testing::DoubleNear(to_seconds(histories.interval) * 1'000, 1)));
}

TEST(LinkHistory, ACounterThatWentBackBeganAnew) {
  const LinkHistories histories = histories_of(
      {{0, seconds(0), 900}, {0, seconds(1), 1'000}, {0, seconds(2), 50}, {0, seconds(3), 150}});
  ASSERT_THAT(histories.links, SizeIs(1));
  EXPECT_THAT(histories.links[0].bytes, ElementsAre(100, 50, 100));
}

TEST(LinkHistory, LinksThatWereReadTooLittleAreLeftOut) {
  std::vector<CounterReading> readings = {{7, seconds(5), 1}};
  for (int64_t i = 0; i < 20; ++i) {
    for (const LinkId link : {0U, 2U, 4U}) readings.push_back({link, seconds(i), 100});
    if (i > 15) readings.push_back({9, seconds(i), 100});
  }
  const LinkHistories histories = histories_of(readings);
  ASSERT_THAT(histories.links, SizeIs(3));
  EXPECT_THAT(histories.links[2].bytes, SizeIs(19));
}

TEST(LinkHistory, NothingIsMadeOfNothing) {
  EXPECT_THAT(histories_of({}).links, SizeIs(0));
  EXPECT_THAT(histories_of({{0, seconds(1), 1}}).links, SizeIs(0));
  EXPECT_THAT(histories_of({{0, seconds(1), 1}, {0, seconds(1), 2}}).links, SizeIs(0));
}

TEST(LinkHistory, LoadsOfPlansAreTakenAwaySinceTheyBegan) {
  LinkHistories histories{.begin = seconds(100), .interval = seconds(10), .links = {}};
  histories.links = {{1, {1'000, 1'000, 1'000, 100}}, {5, {7, 7, 7, 7}}};
  subtract(histories, {0, 20, 0}, seconds(115));
  EXPECT_THAT(histories.links[0].bytes, ElementsAre(1'000, 900, 800, 0));
  EXPECT_THAT(histories.links[1].bytes, ElementsAre(7, 7, 7, 7));
}

}  // namespace
}  // namespace heddle::planner
