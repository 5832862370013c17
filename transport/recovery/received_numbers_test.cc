// Behaviour of the received numbers of a path, by example and against a naive model.
#include "transport/recovery/received_numbers.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/random.h"

namespace heddle::transport {
namespace {

// The numbers of a path, with a pool to lend from.
struct Numbers {
  explicit Numbers(uint32_t limit = 64) : pool(limit) {}

  Novelty judge(uint64_t low, uint64_t high) const { return path.judge(pool, low, high); }
  void insert(uint64_t low, uint64_t high) { path.insert(pool, low, high); }
  bool leaves_gap(uint64_t low) const { return path.leaves_gap(low); }
  bool empty() const { return path.empty(); }
  uint64_t largest() const { return path.largest(); }
  size_t range_count() const { return path.range_count(pool); }
  void describe(AckFrame& frame) const { path.describe(pool, frame); }

  OlderPool pool;
  ReceivedNumbers path;
};

std::vector<NumberRange> ranges(const Numbers& numbers) {
  AckFrame frame;
  numbers.describe(frame);
  return {frame.ranges.begin(), frame.ranges.begin() + frame.range_count};
}

TEST(ReceivedNumbersTest, BeforeAnythingArrivesEveryNumberIsNew) {
  const Numbers numbers;
  EXPECT_TRUE(numbers.empty());
  EXPECT_EQ(numbers.judge(1, 1), Novelty::kNew);
  EXPECT_EQ(numbers.judge(5, 500), Novelty::kNew);
  EXPECT_EQ(numbers.range_count(), 0u);
}

TEST(ReceivedNumbersTest, InOrderItIsOneRangeWithoutMemoryOfItsOwn) {
  Numbers numbers;
  for (uint64_t i = 1; i < 1000; i += 3) {
    EXPECT_FALSE(numbers.leaves_gap(i));
    numbers.insert(i, i + 2);
  }
  EXPECT_EQ(numbers.range_count(), 1u);
  EXPECT_EQ(numbers.pool.lent(), 0u);
}

TEST(ReceivedNumbersTest, AGapIsSeenAndCanBeFilled) {
  Numbers numbers;
  numbers.insert(1, 10);
  EXPECT_TRUE(numbers.leaves_gap(12));
  numbers.insert(12, 14);
  ASSERT_EQ(numbers.range_count(), 2u);
  EXPECT_EQ(ranges(numbers)[0].low, 12u);
  EXPECT_EQ(ranges(numbers)[1].high, 10u);
  EXPECT_EQ(numbers.judge(11, 11), Novelty::kNew);
  numbers.insert(11, 11);
  ASSERT_EQ(numbers.range_count(), 1u);
  EXPECT_EQ(ranges(numbers)[0].low, 1u);
  EXPECT_EQ(ranges(numbers)[0].high, 14u);
}

TEST(ReceivedNumbersTest, RowsAreNewDuplicateOrMixed) {
  Numbers numbers;
  numbers.insert(5, 10);
  numbers.insert(20, 25);
  EXPECT_EQ(numbers.judge(5, 10), Novelty::kDuplicate);
  EXPECT_EQ(numbers.judge(22, 22), Novelty::kDuplicate);
  EXPECT_EQ(numbers.judge(11, 19), Novelty::kNew);
  EXPECT_EQ(numbers.judge(1, 4), Novelty::kNew);
  EXPECT_EQ(numbers.judge(10, 11), Novelty::kMixed);
  EXPECT_EQ(numbers.judge(19, 20), Novelty::kMixed);
  EXPECT_EQ(numbers.judge(5, 25), Novelty::kMixed);
  EXPECT_EQ(numbers.judge(25, 26), Novelty::kMixed);
}

TEST(ReceivedNumbersTest, OnlyTheNewestRangesAreRemembered) {
  Numbers numbers;
  for (uint64_t i = 0; i < kMaxAckRanges + 3; ++i) numbers.insert(10 + 2 * i, 10 + 2 * i);
  ASSERT_EQ(numbers.range_count(), kMaxAckRanges);
  EXPECT_EQ(ranges(numbers).back().low, 16u);
  // The state of 10, 12 and 14 is dropped: numbers below may be duplicates.
  EXPECT_EQ(numbers.judge(14, 14), Novelty::kTooOld);
  EXPECT_EQ(numbers.judge(11, 11), Novelty::kTooOld);
  EXPECT_EQ(numbers.judge(15, 15), Novelty::kNew);
  EXPECT_EQ(numbers.judge(13, 15), Novelty::kMixed);
}

TEST(ReceivedNumbersTest, OneThatWouldBeTheOldestOfTooManyIsForgottenAtOnce) {
  Numbers numbers;
  for (uint64_t i = 0; i < kMaxAckRanges; ++i) numbers.insert(100 + 2 * i, 100 + 2 * i);
  numbers.insert(50, 50);
  EXPECT_EQ(numbers.range_count(), kMaxAckRanges);
  EXPECT_EQ(ranges(numbers).back().low, 100u);
  EXPECT_EQ(numbers.judge(50, 50), Novelty::kTooOld);
}

TEST(ReceivedNumbersTest, AFilledGapReturnsItsPoolEntry) {
  Numbers numbers;
  numbers.insert(1, 10);
  numbers.insert(12, 14);
  EXPECT_EQ(numbers.pool.lent(), 1u);
  numbers.insert(11, 11);
  EXPECT_EQ(numbers.pool.lent(), 0u);
  numbers.insert(20, 20);
  EXPECT_EQ(numbers.judge(15, 19), Novelty::kNew);
}

TEST(ReceivedNumbersTest, ForgottenGapsAreTooOldAndNewOnesAreNot) {
  Numbers numbers;
  numbers.insert(1, 10);
  numbers.insert(12, 14);
  numbers.insert(20, 25);
  numbers.path.forget_gaps(numbers.pool);
  EXPECT_EQ(numbers.pool.lent(), 0u);
  EXPECT_EQ(numbers.range_count(), 1u);
  for (const uint64_t number : {5, 11, 13, 19}) {
    EXPECT_EQ(numbers.judge(number, number), Novelty::kTooOld) << number;
  }
  EXPECT_EQ(numbers.judge(19, 20), Novelty::kMixed);
  EXPECT_EQ(numbers.judge(20, 25), Novelty::kDuplicate);
  numbers.insert(30, 31);
  EXPECT_EQ(numbers.judge(26, 29), Novelty::kNew);
  EXPECT_EQ(numbers.judge(19, 19), Novelty::kTooOld);
  EXPECT_EQ(numbers.judge(22, 22), Novelty::kDuplicate);
  numbers.insert(26, 29);
  EXPECT_EQ(numbers.range_count(), 1u);
  EXPECT_EQ(numbers.judge(19, 19), Novelty::kTooOld);
}

TEST(ReceivedNumbersTest, WithAnEmptyPoolNumbersBelowAGapAreTooOld) {
  Numbers numbers(0);
  numbers.insert(1, 10);
  numbers.insert(20, 25);
  EXPECT_EQ(numbers.range_count(), 1u);
  EXPECT_EQ(numbers.judge(20, 25), Novelty::kDuplicate);
  EXPECT_EQ(numbers.judge(26, 26), Novelty::kNew);
  EXPECT_EQ(numbers.judge(15, 15), Novelty::kTooOld);
  EXPECT_EQ(numbers.judge(3, 3), Novelty::kTooOld);
}

TEST(ReceivedNumbersTest, ARangeOfMoreThan32BitsKeepsItsNewest) {
  Numbers numbers;
  const uint64_t far = uint64_t{1} << 40;
  numbers.insert(1, far);
  EXPECT_EQ(numbers.range_count(), 1u);
  EXPECT_EQ(ranges(numbers)[0].high, far);
  EXPECT_EQ(numbers.judge(far - 5, far), Novelty::kDuplicate);
  EXPECT_EQ(numbers.judge(7, 9), Novelty::kTooOld);
  EXPECT_EQ(numbers.judge(far + 1, far + 1), Novelty::kNew);
}

TEST(ReceivedNumbersDeathTest, NumberZeroAndEmptyRangesAreErrors) {
  Numbers numbers;
  EXPECT_DEATH(numbers.insert(0, 1), "CHECK failed");
  EXPECT_DEATH(numbers.insert(3, 2), "CHECK failed");
  EXPECT_DEATH(
      {
        AckFrame frame;
        numbers.describe(frame);
      },
      "CHECK failed");
}

// Keeps every number that ever arrived.
class Model {
 public:
  void insert(uint64_t low, uint64_t high) {
    for (uint64_t number = low; number <= high; ++number) there_.insert(number);
  }
  bool knows(uint64_t number) const { return there_.count(number) != 0; }
  uint64_t largest() const { return *there_.rbegin(); }
  // The newest ranges, as the acknowledgement should report them.
  std::vector<NumberRange> newest_ranges() const {
    std::vector<NumberRange> found;
    for (auto at = there_.rbegin(); at != there_.rend(); ++at) {
      if (!found.empty() && found.back().low == *at + 1) {
        found.back().low = *at;
      } else if (found.size() < kMaxAckRanges) {
        found.push_back({*at, *at});
      } else {
        break;
      }
    }
    return found;
  }

 private:
  std::set<uint64_t> there_;
};

// Rows arrive as a network with loss and reordering delivers them: near the newest number,
// sometimes late.
TEST(ReceivedNumbersTest, AgreesWithANaiveModel) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    Numbers numbers;
    Model model;
    const uint64_t late = random.between(1, 60);
    uint64_t newest = 1;
    for (int step = 0; step < 300; ++step) {
      const uint64_t lowest = newest > late ? newest - late : 1;
      const uint64_t low = random.between(lowest, newest + 3);
      const uint64_t high = low + random.below(4);
      uint64_t known = 0;
      for (uint64_t number = low; number <= high; ++number) known += model.knows(number) ? 1 : 0;
      const Novelty novelty = numbers.judge(low, high);
      if (known == 0) {
        ASSERT_NE(novelty, Novelty::kDuplicate);
      }
      if (novelty == Novelty::kNew) {
        ASSERT_EQ(known, 0u);
      }
      if (novelty == Novelty::kDuplicate) {
        ASSERT_EQ(known, high - low + 1);
      }
      if (novelty != Novelty::kNew) continue;
      numbers.insert(low, high);
      model.insert(low, high);
      newest = std::max(newest, high);
      // The reported ranges are correct, and the newest one is complete.
      const std::vector<NumberRange> told = ranges(numbers);
      const std::vector<NumberRange> expected = model.newest_ranges();
      ASSERT_LE(told.size(), kMaxAckRanges);
      ASSERT_EQ(told[0].low, expected[0].low);
      ASSERT_EQ(numbers.largest(), model.largest());
      for (size_t i = 0; i < told.size(); ++i) {
        for (uint64_t number = told[i].low; number <= told[i].high; ++number) {
          ASSERT_TRUE(model.knows(number));
        }
        ASSERT_TRUE(i == 0 || told[i].high + 1 < told[i - 1].low);
      }
    }
  }
}

// With fewer gaps than ranges nothing is forgotten: then it agrees in everything.
TEST(ReceivedNumbersTest, WithFewGapsNothingIsForgotten) {
  Random random(4);
  for (int round = 0; round < 200; ++round) {
    Numbers numbers;
    Model model;
    for (int step = 0; step < 200; ++step) {
      const uint64_t low = random.between(1, 2 * kMaxAckRanges - 1);
      const uint64_t high = std::min<uint64_t>(low + random.below(5), 2 * kMaxAckRanges - 1);
      uint64_t known = 0;
      for (uint64_t number = low; number <= high; ++number) known += model.knows(number) ? 1 : 0;
      const Novelty expected = known == 0                ? Novelty::kNew
                               : known == high - low + 1 ? Novelty::kDuplicate
                                                         : Novelty::kMixed;
      ASSERT_EQ(numbers.judge(low, high), expected);
      if (expected != Novelty::kNew) continue;
      numbers.insert(low, high);
      model.insert(low, high);
      const std::vector<NumberRange> told = ranges(numbers);
      const std::vector<NumberRange> there = model.newest_ranges();
      ASSERT_EQ(told.size(), there.size());
      for (size_t i = 0; i < told.size(); ++i) {
        ASSERT_EQ(told[i].low, there[i].low);
        ASSERT_EQ(told[i].high, there[i].high);
      }
    }
  }
}

}  // namespace
}  // namespace heddle::transport
