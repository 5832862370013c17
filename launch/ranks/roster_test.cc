// Roster of a run: when enough ranks are left, when newcomers are started, who is ended, and how
// that is reported.
#include "launch/ranks/roster.h"

#include <gmock/gmock.h>

#include "launch/params.h"

namespace heddle::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Nanos kStart = seconds(1'000);
constexpr Nanos kLate = kStart + params::kSettled + seconds(1);

TEST(RosterTest, TheRunGoesOnUntilFewerThanTheMinimumAreLeft) {
  for (uint32_t min_ranks = 1; min_ranks <= 4; ++min_ranks) {
    Roster roster(4, Elastic{min_ranks, std::nullopt}, kStart);
    EXPECT_TRUE(roster.enough_left());
    for (uint32_t rank = 0; rank < 4; ++rank) {
      roster.lose(rank, kStart);
      EXPECT_EQ(roster.left(), 3 - rank);
      EXPECT_EQ(roster.enough_left(), 3 - rank >= min_ranks)
          << min_ranks << " of 4, lost to " << rank;
    }
  }
}

TEST(RosterTest, WithoutALimitNoLossIsAllowed) {
  Roster roster(2, std::nullopt, kStart);
  roster.lose(1, kStart);
  EXPECT_FALSE(roster.enough_left());
  EXPECT_FALSE(roster.next_start(kStart));
}

TEST(RosterTest, TextsCountTheRanksThatAreLeft) {
  Roster roster(4, Elastic{2, std::nullopt}, kStart);
  EXPECT_EQ(roster.summary(), "");
  roster.lose(2, kStart);
  EXPECT_EQ(roster.left_text(), "3 of 4 ranks are left, at least 2 are needed");
  EXPECT_EQ(roster.summary(), "the job ended with 3 of 4 ranks: rank 2 was lost");
  roster.lose(0, kStart);
  EXPECT_EQ(roster.summary(), "the job ended with 2 of 4 ranks: ranks 2, 0 were lost");
  roster.lose(1, kStart);
  EXPECT_EQ(roster.left_text(), "1 of 4 ranks is left, at least 2 are needed");
}

TEST(RosterTest, WithoutAMaximumNobodyIsReplaced) {
  Roster roster(4, Elastic{2, std::nullopt}, kStart);
  roster.lose(2, kLate);
  EXPECT_FALSE(roster.next_start(kLate));
  const auto resized = roster.resize(3);
  ASSERT_FALSE(resized);
  EXPECT_THAT(resized.error().message(), HasSubstr("--elastic MIN:MAX"));
}

class ElasticRosterTest : public testing::Test {
 protected:
  uint32_t start_newcomer(Nanos now) {
    const uint32_t number = roster_.next_number();
    roster_.add_newcomer(now);
    return number;
  }

  Roster roster_{4, Elastic{2, 6}, kStart};
};

TEST_F(ElasticRosterTest, ANewcomerIsStartedForALostRankAndCountsOnceItIsTakenIn) {
  EXPECT_FALSE(roster_.next_start(kLate));
  roster_.lose(1, kLate);
  EXPECT_EQ(roster_.next_start(kLate), kLate);
  EXPECT_EQ(start_newcomer(kLate), 4U);
  EXPECT_FALSE(roster_.next_start(kLate)) << "one is on its way";
  EXPECT_EQ(roster_.left(), 3U);
  EXPECT_TRUE(roster_.is_waiting(4));
  roster_.take_in(4, kLate);
  EXPECT_EQ(roster_.left(), 4U);
  EXPECT_THAT(roster_.members(), ElementsAre(0, 2, 3, 4));
  EXPECT_EQ(roster_.left_text(), "4 of 4 ranks are left, at least 2 are needed");
}

TEST_F(ElasticRosterTest, NewcomersThatWaitAreNotEnough) {
  roster_.lose(0, kLate);
  start_newcomer(kLate);
  roster_.lose(1, kLate);
  start_newcomer(kLate);
  roster_.lose(2, kLate);
  EXPECT_FALSE(roster_.enough_left()) << "1 member and 2 newcomers";
}

TEST_F(ElasticRosterTest, ProcessesThatEndSoonPutTheNextStartOffEachTimeTwiceAsLong) {
  roster_.lose(1, kStart);
  EXPECT_EQ(roster_.next_start(kStart), kStart) << "the first may be an accident";
  Nanos now = kStart;
  Nanos wait = params::kFirstRestartWait;
  for (int end = 0; end < 20; ++end) {
    roster_.lose(start_newcomer(now), now);
    EXPECT_EQ(roster_.next_start(now), now + std::min(wait, params::kLongestRestartWait)) << end;
    now = *roster_.next_start(now);
    wait = 2 * wait;
  }
  const uint32_t lasting = start_newcomer(now);
  roster_.take_in(lasting, now);
  now += params::kSettled;
  roster_.lose(lasting, now);
  EXPECT_EQ(roster_.next_start(now), now);
}

TEST_F(ElasticRosterTest, ProcessesThatEndTogetherCountAsOneEnd) {
  for (const uint32_t rank : {0U, 1U, 2U}) roster_.lose(rank, kStart);
  EXPECT_EQ(roster_.next_start(kStart), kStart);
  for (int more = 0; more < 3; ++more) start_newcomer(kStart);
  for (const uint32_t newcomer : {4U, 5U, 6U}) roster_.lose(newcomer, kStart);
  EXPECT_EQ(roster_.next_start(kStart), kStart + params::kFirstRestartWait);
}

TEST_F(ElasticRosterTest, OneThatCannotBeStartedIsTriedLater) {
  roster_.lose(1, kStart);
  roster_.fail_to_start(kStart);
  EXPECT_EQ(roster_.next_number(), 4U);
  EXPECT_EQ(roster_.next_start(kStart), kStart + params::kFirstRestartWait);
}

TEST_F(ElasticRosterTest, OnceARankHasFinishedNoneIsReplacedAddedOrReleased) {
  ASSERT_TRUE(roster_.resize(3));
  roster_.finish(0);
  EXPECT_FALSE(roster_.surplus());
  roster_.lose(1, kLate);
  EXPECT_FALSE(roster_.next_start(kLate));
  EXPECT_EQ(roster_.left(), 3U);
  EXPECT_FALSE(roster_.resize(6));
}

TEST_F(ElasticRosterTest, MoreRanksAreStartedWhereMoreAreWanted) {
  ASSERT_TRUE(roster_.resize(6));
  for (int more = 0; more < 2; ++more) {
    ASSERT_TRUE(roster_.next_start(kStart));
    start_newcomer(kStart);
  }
  EXPECT_FALSE(roster_.next_start(kStart));
  EXPECT_FALSE(roster_.surplus());
}

TEST_F(ElasticRosterTest, WhereFewerAreWantedNewcomersThatWaitGoFirstThenTheLastRanks) {
  ASSERT_TRUE(roster_.resize(5));
  const uint32_t newcomer = start_newcomer(kStart);
  ASSERT_TRUE(roster_.resize(3));
  EXPECT_EQ(roster_.surplus(), newcomer);
  roster_.release(newcomer);
  EXPECT_EQ(roster_.surplus(), 3U);
  roster_.release(3);
  EXPECT_FALSE(roster_.surplus());
  roster_.lose(3, kStart);  // it was asked to end
  EXPECT_EQ(roster_.summary(), "");
  EXPECT_EQ(roster_.left(), 3U);
  EXPECT_FALSE(roster_.next_start(kStart));
}

TEST_F(ElasticRosterTest, OtherNumbersThanTheRunAllowsAreRefused) {
  for (const uint32_t ranks : {0U, 1U, 7U, UINT32_MAX}) {
    const auto resized = roster_.resize(ranks);
    ASSERT_FALSE(resized) << ranks;
    EXPECT_THAT(resized.error().message(), HasSubstr("from 2 to 6"));
  }
  EXPECT_EQ(roster_.wanted(), 4U);
}

}  // namespace
}  // namespace heddle::launch
