// Behaviour of the interval set, by example and against a naive model.
#include "transport/recovery/interval_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/random.h"

namespace heddle::transport {
namespace {

TEST(IntervalSetTest, CountsOnlyWhatIsNew) {
  IntervalSet set;
  EXPECT_EQ(set.add(10, 20), 10u);
  EXPECT_EQ(set.add(10, 20), 0u);
  EXPECT_EQ(set.add(5, 12), 5u);
  EXPECT_EQ(set.add(0, 30), 15u);
  EXPECT_EQ(set.covered(), 30u);
  EXPECT_EQ(set.size(), 1u);
}

TEST(IntervalSetTest, NeighboursBecomeOne) {
  IntervalSet set;
  set.add(0, 10);
  set.add(20, 30);
  EXPECT_EQ(set.size(), 2u);
  set.add(10, 20);
  ASSERT_EQ(set.size(), 1u);
  EXPECT_EQ(set[0].start, 0u);
  EXPECT_EQ(set[0].end, 30u);
}

TEST(IntervalSetTest, AddingNothingChangesNothing) {
  IntervalSet set;
  EXPECT_EQ(set.add(7, 7), 0u);
  EXPECT_EQ(set.size(), 0u);
}

TEST(IntervalSetTest, AnEmptySetIsAllGap) {
  const IntervalSet set;
  EXPECT_EQ(set.first_gap(), 0u);
  EXPECT_EQ(set.first_gap(99), 99u);
  EXPECT_EQ(set.first_covered(5, 77), 77u);
  EXPECT_EQ(set.covered_within(0, UINT64_MAX), 0u);
}

TEST(IntervalSetTest, TheEndOfAnIntervalIsAGap) {
  IntervalSet set;
  set.add(10, 20);
  EXPECT_EQ(set.first_gap(10), 20u);
  EXPECT_EQ(set.first_gap(20), 20u);
  EXPECT_EQ(set.first_covered(20, 77), 77u);
}

TEST(IntervalSetTest, ClearKeepsItsMemory) {
  IntervalSet set;
  for (uint64_t i = 0; i < 100; ++i) set.add(i * 10, i * 10 + 5);
  const size_t held = set.bytes_held();
  set.clear();
  EXPECT_EQ(set.covered(), 0u);
  EXPECT_EQ(set.size(), 0u);
  EXPECT_EQ(set.bytes_held(), held);
}

TEST(IntervalSetDeathTest, AnIntervalThatEndsBeforeItStartsIsAnError) {
  IntervalSet set;
  EXPECT_DEATH(set.add(2, 1), "CHECK failed");
}

// The model is an array of bits.
class Model {
 public:
  static constexpr uint64_t kBytes = 200;

  uint64_t add(uint64_t start, uint64_t end) {
    const uint64_t before = covered_within(start, end);
    std::fill(bits_.begin() + static_cast<ptrdiff_t>(start),
              bits_.begin() + static_cast<ptrdiff_t>(end), true);
    return end - start - before;
  }
  uint64_t covered_within(uint64_t start, uint64_t end) const {
    return static_cast<uint64_t>(std::count(bits_.begin() + static_cast<ptrdiff_t>(start),
                                            bits_.begin() + static_cast<ptrdiff_t>(end), true));
  }
  uint64_t first(uint64_t from, bool there, uint64_t otherwise) const {
    for (uint64_t i = from; i < kBytes; ++i) {
      if (bits_[i] == there) return i;
    }
    return otherwise;
  }
  size_t intervals() const {
    size_t count = 0;
    for (uint64_t i = 0; i < kBytes; ++i) count += bits_[i] && (i == 0 || !bits_[i - 1]) ? 1 : 0;
    return count;
  }

 private:
  std::array<bool, kBytes> bits_{};
};

TEST(IntervalSetTest, AgreesWithANaiveModel) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    IntervalSet set;
    Model model;
    const uint64_t longest = random.between(1, 40);
    for (int step = 0; step < 60; ++step) {
      const uint64_t start = random.below(Model::kBytes);
      const uint64_t end = std::min(Model::kBytes, start + random.below(longest + 1));
      ASSERT_EQ(set.add(start, end), model.add(start, end));
      ASSERT_EQ(set.covered(), model.covered_within(0, Model::kBytes));
      ASSERT_EQ(set.size(), model.intervals());
      const uint64_t low = random.below(Model::kBytes);
      const uint64_t high = random.between(low, Model::kBytes);
      ASSERT_EQ(set.covered_within(low, high), model.covered_within(low, high));
      ASSERT_EQ(set.first_gap(low), model.first(low, false, Model::kBytes));
      ASSERT_EQ(set.first_covered(low, 1000), model.first(low, true, 1000));
    }
  }
}

}  // namespace
}  // namespace heddle::transport
