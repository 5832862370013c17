// Link capacity under rate changes, compared with a sum over every nanosecond.
#include "simulator/rate_history.h"

#include <gtest/gtest.h>

#include <array>

#include "base/random.h"

namespace heddle::simulator {
namespace {

TEST(RateHistoryTest, ALinkWithoutChangesHasItsFirstRate) {
  const RateHistory history;
  EXPECT_EQ(static_cast<uint64_t>(history.nanobits(3, {7}, nanos(10), nanos(30))), 140u);
  EXPECT_EQ(static_cast<uint64_t>(history.nanobits(3, {7}, nanos(30), nanos(10))), 0u);
}

TEST(RateHistoryTest, AnySpanIsTheSumOfItsNanoseconds) {
  constexpr int64_t kLength = 200;
  constexpr uint64_t kFirst = 5;
  Random random(1);
  RateHistory history;
  std::array<uint64_t, kLength> rates{};
  rates.fill(kFirst);
  int64_t at = 0;
  for (int change = 0; change < 12; ++change) {
    at += static_cast<int64_t>(random.below(30));  // some at the same time: the last of them counts
    if (at >= kLength) break;
    const uint64_t rate = random.below(9);
    history.add(1, nanos(at), {rate});
    for (auto i = static_cast<size_t>(at); i < kLength; ++i) rates[i] = rate;
  }
  for (int64_t from = 0; from < kLength; ++from) {
    uint64_t sum = 0;
    for (int64_t to = from; to < kLength; ++to) {
      ASSERT_EQ(static_cast<uint64_t>(history.nanobits(1, {kFirst}, nanos(from), nanos(to))), sum)
          << from << " to " << to;
      sum += rates[static_cast<size_t>(to)];
    }
  }
}

}  // namespace
}  // namespace heddle::simulator
