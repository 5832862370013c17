// Advice that is followed to the letter is enough: its rates, times and shares are rounded to the
// side that is safe.
#include "planner/sizing/advised_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <regex>
#include <string>

#include "planner/size_headroom.h"
#include "planner/size_overlap.h"

namespace heddle::planner {
namespace {

std::string match_of(const std::string& text, const std::string& pattern) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(text, found, std::regex(pattern))) << text;
  return found.size() > 1 ? found[1].str() : "0";
}

TEST(AdvisedValues, RatesAreRoundedUpAndExactOnesStay) {
  EXPECT_EQ(rate_at_least_text(400e9), "400 Gb/s");
  EXPECT_EQ(rate_at_least_text(400.4e9), "401 Gb/s");
  EXPECT_EQ(rate_at_least_text(999.9e9), "1.00 Tb/s");
  EXPECT_EQ(rate_at_least_text(1'234'567), "1.24 Mb/s");
  EXPECT_EQ(times_at_least_text(1.211), "1.22");
  EXPECT_EQ(times_at_least_text(1.2), "1.20");
  EXPECT_EQ(times_at_least_text(12.31), "12.4");
  EXPECT_EQ(share_at_most_text(0.338), "0.33");
  EXPECT_EQ(share_at_most_text(0.000'3389), "0.00033");
}

TEST(AdvisedValues, RoundingIsToTheSafeSideAndByLessThanAUnit) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-9, 15);
  for (int i = 0; i < 10'000; ++i) {
    const double value = std::pow(10, exponent(random));
    EXPECT_GE(rounded_up(value, 3), value * (1 - 1e-11));
    EXPECT_LE(rounded_up(value, 3), value * 1.0101);
    EXPECT_LE(rounded_down(value, 3), value * (1 + 1e-11));
    EXPECT_GE(rounded_down(value, 3), value * 0.9899);
  }
}

TEST(AdvisedValues, AStepWithTheAdvisedRateOrComputationMeetsTheCondition) {
  const ModelShape model{.name = "a billion", .parameters_alone = 1'000'000'000};
  for (const double backward_s : {0.0613, 0.1117, 0.2131, 0.2999}) {
    OverlapQuestion question;
    question.backward_s = backward_s;
    question.link_bits_per_s = 17e9;
    const Result<Answer> answer = size_overlap(model, question);
    ASSERT_TRUE(answer.has_value()) << answer.error().why;
    const std::string advice = answer->advice.front();
    const double needed = std::stod(match_of(advice, "NICs of ([0-9.]+) Gb/s")) * 1e9;
    const double times = std::stod(match_of(advice, "or ([0-9.]+) times"));
    OverlapQuestion faster = question;
    faster.link_bits_per_s = needed;
    EXPECT_NE(size_overlap(model, faster)->advice.front().find("condition holds"),
              std::string::npos);
    OverlapQuestion longer = question;
    longer.backward_s *= times;
    EXPECT_NE(size_overlap(model, longer)->advice.front().find("condition holds"),
              std::string::npos);
  }
}

TEST(AdvisedValues, HeadroomFitsTheBufferWithTheAdvisedShare) {
  for (const double meters : {100.0, 333.0, 1'234.0, 40'000.0}) {
    HeadroomQuestion question;
    question.link_bits_per_s = 400e9;
    question.ports = 64;
    question.meters = meters;
    question.buffer_bytes = 3e6;
    const Result<Answer> answer = size_headroom(question);
    ASSERT_TRUE(answer.has_value());
    ASSERT_FALSE(answer->sound);
    question.pool_share = std::stod(match_of(answer->advice.front(), "share of ([0-9.e-]+),"));
    ASSERT_GT(question.pool_share, 0);
    EXPECT_TRUE(size_headroom(question)->sound) << meters;
  }
}

}  // namespace
}  // namespace heddle::planner
