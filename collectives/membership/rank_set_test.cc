// Sets of ranks, their bytes and their text.
#include "collectives/membership/rank_set.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "base/random.h"

namespace heddle::collectives {
namespace {

RankSet of(uint32_t size, std::initializer_list<uint32_t> ranks) {
  RankSet set(size);
  for (const uint32_t rank : ranks) set.insert(rank);
  return set;
}

TEST(RankSet, NamesRunsOfRanks) {
  EXPECT_EQ(of(9, {0, 1, 2, 5}).text(), "0 to 2, 5");
  EXPECT_EQ(of(9, {3, 4, 8}).text(), "3, 4, 8");
  EXPECT_EQ(RankSet(4).text(), "none");
}

TEST(RankSet, IsReadAsItWasWritten) {
  Random random(1);
  std::array<std::byte, 480> room{};
  for (int round = 0; round < 2000; ++round) {
    const auto size = static_cast<uint32_t>(random.between(1, 3000));
    RankSet set(size);
    const uint64_t some = random.between(0, size);
    for (uint64_t i = 0; i < some; ++i) {
      set.insert(static_cast<uint32_t>(random.between(0, size - 1)));
    }
    if (round % 3 == 0) set.erase(static_cast<uint32_t>(random.between(0, size - 1)));
    const size_t bytes = set.write(room);
    ASSERT_GT(bytes, 0U);
    const auto read = RankSet::read({room.data(), bytes}, size);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(*read, set);
    EXPECT_EQ(read->count(), set.ranks().size());
  }
}

TEST(RankSet, OfManyRanksFitsWhereTheyAreFewRuns) {
  std::array<std::byte, 480> room{};
  RankSet all_but_some(65'536);
  for (uint32_t rank = 0; rank < all_but_some.size(); ++rank) {
    if (rank % 2000 != 7) all_but_some.insert(rank);
  }
  const size_t bytes = all_but_some.write(room);
  ASSERT_GT(bytes, 0U);
  EXPECT_EQ(RankSet::read({room.data(), bytes}, all_but_some.size()), all_but_some);
  RankSet scattered(65'536);
  for (uint32_t rank = 0; rank < scattered.size(); rank += 2) scattered.insert(rank);
  EXPECT_EQ(scattered.write(room), 0U);
}

TEST(RankSet, RefusesWhatIsOfAnotherSize) {
  std::array<std::byte, 480> room{};
  const size_t runs = of(100, {90}).write(room);
  EXPECT_FALSE(RankSet::read({room.data(), runs}, 90).has_value());
  EXPECT_FALSE(RankSet::read({room.data(), runs - 1}, 100).has_value());
  EXPECT_FALSE(RankSet::read({}, 100).has_value());
  const size_t bits = of(10, {0, 2, 4, 6, 8}).write(room);
  EXPECT_FALSE(RankSet::read({room.data(), bits}, 30).has_value());
  EXPECT_FALSE(RankSet::read({room.data(), bits}, 8).has_value());
}

}  // namespace
}  // namespace heddle::collectives
