// Goodput over distance: by hand for one link, its limits, and how it depends on each value.
#include "planner/size_distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace heddle::planner {
namespace {

double goodput_of(const DistanceQuestion& question) {
  const Result<Answer> answer = size_distance(question);
  EXPECT_TRUE(answer.has_value());
  return answer ? answer->figure("goodput_bits_per_s").value : 0;
}

// 300 km are 3 ms there and back, and 10 us of hosts: 3.01 ms. A message of 1 MiB is 8,388,608
// bits; at 400 Gb/s x 4096 / 4178 = 392.149 Gb/s it takes 21.3914 us. One at a time is
// 8,388,608 b / 3.0313914 ms = 2.76725 Gb/s.
TEST(SizeDistance, OneMessageATimeIsLimitedByTheRoundTrip) {
  const Result<Answer> answer = size_distance({.km = 300});
  ASSERT_TRUE(answer.has_value());
  EXPECT_NEAR(answer->figure("round_trip_s").value, 3.01e-3, 1e-12);
  EXPECT_NEAR(answer->figure("capacity_bits_per_s").value, 392.149e9, 1e6);
  EXPECT_NEAR(answer->figure("goodput_bits_per_s").value, 2.76725e9, 1e5);
  EXPECT_NE(answer->advice.front().find("too little is outstanding"), std::string::npos);
}

TEST(SizeDistance, TheAdvisedOutstandingBytesFillTheLink) {
  for (const double km : {0.0, 10.0, 300.0, 3'000.0}) {
    const Result<Answer> answer = size_distance({.km = km});
    ASSERT_TRUE(answer.has_value());
    const double needed = answer->figure("outstanding_needed_bytes").value;
    const double capacity = answer->figure("capacity_bits_per_s").value;
    const DistanceQuestion enough{.km = km, .outstanding = std::ceil(needed / (1 << 20))};
    EXPECT_DOUBLE_EQ(goodput_of(enough), capacity);
    EXPECT_LT(goodput_of({.km = km, .outstanding = std::max(1.0, enough.outstanding - 2)}),
              capacity);
  }
}

TEST(SizeDistance, GoodputFallsWithDistanceAndLossAndRisesWithWhatIsOutstanding) {
  for (double km = 1; km < 5'000; km *= 3) {
    for (double outstanding = 1; outstanding < 5'000; outstanding *= 4) {
      const DistanceQuestion question{.km = km, .outstanding = outstanding, .loss = 1e-5};
      const double goodput = goodput_of(question);
      EXPECT_GT(goodput, 0);
      DistanceQuestion other = question;
      other.km *= 2;
      EXPECT_LE(goodput_of(other), goodput);
      other = question;
      other.loss *= 10;
      EXPECT_LE(goodput_of(other), goodput);
      other = question;
      other.queue_pairs = 2;
      EXPECT_GE(goodput_of(other), goodput);
      other = question;
      other.go_back_n = false;
      EXPECT_GE(goodput_of(other), goodput);
      other = question;
      other.loss = 0;
      EXPECT_GE(goodput_of(other), goodput);
    }
  }
}

TEST(SizeDistance, ImpossibleLinksAreRefused) {
  EXPECT_FALSE(size_distance({.km = -1}).has_value());
  EXPECT_FALSE(size_distance({.loss = 1}).has_value());
  EXPECT_FALSE(size_distance({.message_bytes = 0}).has_value());
}

}  // namespace
}  // namespace heddle::planner
