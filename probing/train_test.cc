// Rates of trains from arrival times.
#include "probing/train.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle::probing {
namespace {

constexpr Bytes kPacket = {1'250};  // 10 us at 1 Gb/s

std::vector<TrainArrival> arrivals(uint32_t from, uint32_t to, Nanos apart) {
  std::vector<TrainArrival> made;
  for (uint32_t i = from; i < to; ++i) made.push_back({i, apart * i});
  return made;
}

TEST(TrainTest, EvenArrivalsHaveTheRateOfTheirDistance) {
  EXPECT_EQ(train_rate(arrivals(0, 96, micros(10)), 96, kPacket), gigabits_per_s(1));
}

TEST(TrainTest, ABurstInTheFirstHalfDoesNotCount) {
  std::vector<TrainArrival> made = arrivals(0, 40, {});
  const std::vector<TrainArrival> later = arrivals(40, 96, micros(10));
  made.insert(made.end(), later.begin(), later.end());
  EXPECT_EQ(train_rate(made, 96, kPacket), gigabits_per_s(1));
}

TEST(TrainTest, FewPacketsOrOneInstantAreNoRate) {
  EXPECT_EQ(train_rate(arrivals(48, 55, micros(10)), 96, kPacket), BitsPerSec{});
  EXPECT_EQ(train_rate(arrivals(0, 48, micros(10)), 96, kPacket), BitsPerSec{});
  EXPECT_EQ(train_rate(arrivals(0, 96, {}), 96, kPacket), BitsPerSec{});
  EXPECT_EQ(train_rate({}, 96, kPacket), BitsPerSec{});
}

}  // namespace
}  // namespace heddle::probing
