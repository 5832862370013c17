// Reports of late ranks reach all ranks, terminate, and are withdrawn.
#include "collectives/communicator/straggler_tracker.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/random.h"

namespace heddle::collectives {
namespace {

using Ranks = std::vector<uint32_t>;

TEST(StragglerTracker, ARankThatArrivedIsNoLongerMissing) {
  StragglerTracker late;
  EXPECT_TRUE(late.note({7, 3, false}));
  EXPECT_TRUE(late.note({7, 1, false}));
  EXPECT_FALSE(late.note({7, 3, false})) << "known";
  EXPECT_EQ(late.missing(7), (Ranks{1, 3}));
  EXPECT_TRUE(late.note({7, 3, true}));
  EXPECT_FALSE(late.note({7, 3, true}));
  EXPECT_FALSE(late.note({7, 3, false})) << "old news on a longer way";
  EXPECT_EQ(late.missing(7), Ranks{1});
  EXPECT_EQ(late.missing(8), Ranks{});
  EXPECT_FALSE(late.note({7, 5, true})) << "nobody was told that it is late";
}

TEST(StragglerTracker, EachIsAskedOnceAsSoonAsItCanBe) {
  StragglerTracker late;
  late.note({7, 1, false});
  late.note({7, 2, false});
  Ranks asked;
  const auto ask_even = [&asked](uint64_t, uint32_t rank) {
    if (rank % 2 == 0) asked.push_back(rank);
    return rank % 2 == 0;
  };
  late.ask_unasked(ask_even);
  late.ask_unasked(ask_even);
  EXPECT_EQ(asked, Ranks{2});
  EXPECT_TRUE(late.any_unasked());
  late.note({7, 1, true});
  EXPECT_FALSE(late.any_unasked());
}

TEST(StragglerTracker, CallsThatAreLongOverAreForgotten) {
  StragglerTracker late;
  late.note({7, 1, false});
  late.forget_before(7 + StragglerTracker::kCallsBack);
  EXPECT_EQ(late.missing(7), Ranks{1}) << "another rank may be in it still";
  late.forget_before(8 + StragglerTracker::kCallsBack);
  EXPECT_EQ(late.missing(7), Ranks{});
  EXPECT_FALSE(late.any_unasked());
  EXPECT_FALSE(late.note({7, 1, false}));
}

TEST(StragglerTracker, AskersAreReturnedWhenTheCallIsMade) {
  StragglerTracker late;
  late.note_asker(5, 1);
  late.note_asker(5, 2);
  late.note_asker(6, 1);
  const StragglerTracker::Askers first = late.take_askers(5);
  EXPECT_EQ(first.known, (std::vector<std::pair<uint64_t, uint32_t>>{{5, 1}, {5, 2}}));
  EXPECT_FALSE(first.more);
  EXPECT_EQ(late.take_askers(6).known.size(), 1u);
  EXPECT_FALSE(late.any_asker());
  for (uint32_t rank = 0; rank <= StragglerTracker::kMost; ++rank) late.note_asker(7, rank);
  const StragglerTracker::Askers many = late.take_askers(7);
  EXPECT_EQ(many.known.size(), StragglerTracker::kMost);
  EXPECT_TRUE(many.more);
  EXPECT_FALSE(late.any_asker());
}

// With more reports than a rank keeps, ranks that evicted each other's reports once forwarded them
// forever.
TEST(StragglerTracker, MoreNewsThanAreRememberedEnd) {
  constexpr uint32_t kRanks = 4;
  Random random(5);
  std::vector<StragglerTracker> ranks(kRanks);
  struct Told {
    uint32_t to = 0;
    Late news;
  };
  std::deque<Told> told;
  const uint32_t pairs = 3 * StragglerTracker::kMost;
  for (uint32_t i = 0; i < pairs; ++i) {
    const Late news = {random.below(8), static_cast<uint32_t>(100 + random.below(pairs)), false};
    told.push_back({static_cast<uint32_t>(random.below(kRanks)), news});
    if (i % 3 == 0) told.push_back({told.back().to, {news.number, news.rank, true}});
  }
  uint64_t steps = 0;
  while (!told.empty()) {
    ASSERT_LT(++steps, uint64_t{pairs} * 2 * 2 * kRanks * kRanks) << "it does not end";
    // Each of another's messages in turn, at random, so that ways differ in length.
    const size_t at = random.below(std::min<size_t>(told.size(), 16));
    const Told next = told[at];
    told.erase(told.begin() + static_cast<int64_t>(at));
    if (!ranks[next.to].note(next.news)) continue;
    for (uint32_t to = 0; to < kRanks; ++to) {
      if (to != next.to) told.push_back({to, next.news});
    }
  }
}

}  // namespace
}  // namespace heddle::collectives
