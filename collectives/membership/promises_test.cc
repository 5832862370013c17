// What a leader has to propose after the promises that it has.
#include "collectives/membership/promises.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace heddle::collectives {
namespace {

constexpr uint32_t kRanks = 5;
constexpr uint32_t kLeader = 1;
constexpr uint64_t kNewcomers = 77;
constexpr Ballot kOwn = {2, kLeader};

RankSet set_of(std::initializer_list<uint32_t> ranks) {
  RankSet set(kRanks);
  for (const uint32_t rank : ranks) set.insert(rank);
  return set;
}

class PromisesTest : public testing::Test {
 protected:
  void promise(uint32_t from, const Ballot& accepted = {}, const RankSet& ranks = RankSet(),
               uint64_t newcomers = kNewcomers) {
    promises_.note(from, {kOwn, {accepted, ranks, newcomers}});
  }

  Promises promises_{kLeader, kRanks, kNewcomers};
};

TEST_F(PromisesTest, RanksThatAreGoneDoNotCountNorDoPromisesOfOtherBallots) {
  promise(0);
  promise(3);
  promises_.note(4, {{1, 0}, {{}, RankSet(), kNewcomers}});
  EXPECT_EQ(promises_.came(set_of({3})), set_of({0, 1, 4}));
  EXPECT_EQ(promises_.of_ballot(kOwn, set_of({3})), set_of({0, 1}));
  EXPECT_TRUE(promises_.has(3));
  EXPECT_FALSE(promises_.has(2));
}

TEST_F(PromisesTest, WhereNoneAcceptedASetItIsThoseThatAreReady) {
  promise(0);
  promise(2);
  const ProposedSet set = promises_.to_propose(set_of({0, 1, 2}), {{}, RankSet(kRanks), 0});
  EXPECT_EQ(set.ranks, set_of({0, 1, 2}));
  EXPECT_EQ(set.newcomers, kNewcomers);
}

TEST_F(PromisesTest, NewcomersThatARankDoesNotKnowAreNotTakenIn) {
  promise(0);
  promise(2, {}, RankSet(), 0);
  EXPECT_EQ(promises_.to_propose(set_of({0, 1, 2}), {{}, RankSet(kRanks), 0}).newcomers, 0u);
  EXPECT_EQ(promises_.to_propose(set_of({0, 1}), {{}, RankSet(kRanks), 0}).newcomers, kNewcomers);
}

TEST_F(PromisesTest, TheSetOfTheHighestBallotAmongThoseThatAreReadyIsProposedAgain) {
  promise(0, {1, 0}, set_of({0, 1, 2}), 5);
  promise(2, {2, 0}, set_of({0, 2, 3}), 6);
  promise(3, {3, 0}, set_of({2, 3, 4}), 7);
  const ProposedSet own = {{1, 1}, set_of({1, 2, 3}), 8};
  EXPECT_EQ(promises_.to_propose(set_of({0, 1}), own).ranks, own.ranks) << "higher than {1, 0}";
  const ProposedSet highest = promises_.to_propose(set_of({0, 1, 2}), own);
  EXPECT_EQ(highest.ranks, set_of({0, 2, 3}));
  EXPECT_EQ(highest.newcomers, 6u);
}

}  // namespace
}  // namespace heddle::collectives
