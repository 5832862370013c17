// What is tried first, and for how long.
#include "planner/decision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace heddle::planner {
namespace {

TEST(Decision, ASettingThatGainsEnoughIsTriedBeforeHardwareThatGainsMore) {
  const std::vector<Option> options = {{ChangeKind::kBandwidth, {0.4, 0.39, 0.41}},
                                       {ChangeKind::kSharding, {0.2, 0.19, 0.21}},
                                       {ChangeKind::kPaths, {0.03, 0.02, 0.04}},
                                       {ChangeKind::kPathPlan, {0.05, 0.04, 0.06}}};
  const Decision decision = decide(options, true, 0.02);
  EXPECT_EQ(decision.verdict, Verdict::kGo);
  EXPECT_EQ(decision.first, 3U);
}

TEST(Decision, ASettingThatGainsTooLittleLeavesTheProgramThenHardware) {
  std::vector<Option> options = {{ChangeKind::kBandwidth, {0.4, 0.39, 0.41}},
                                 {ChangeKind::kSharding, {0.2, 0.19, 0.21}},
                                 {ChangeKind::kPaths, {0.03, 0.02, 0.04}}};
  EXPECT_EQ(decide(options, true, 0.05).first, 1U);
  EXPECT_EQ(decide(options, true, 0.3).first, 0U);
  EXPECT_EQ(decide(options, true, 0.5).verdict, Verdict::kNoGo);
  options[1].comparable = false;
  EXPECT_EQ(decide(options, true, 0.05).first, 0U);
}

TEST(Decision, AGainThatMayBeNoneIsNotTried) {
  const std::vector<Option> options = {{ChangeKind::kPaths, {0.3, -0.1, 0.7}}};
  const Decision decision = decide(options, true, 0.02);
  EXPECT_EQ(decision.verdict, Verdict::kNoGo);
  EXPECT_FALSE(decision.first.has_value());
}

TEST(Decision, AGainWhoseIntervalReachesBelowTheLeastIsNotTried) {
  const std::vector<Option> options = {{ChangeKind::kPaths, {0.03, 0.017, 0.048}}};
  EXPECT_EQ(decide(options, true, 0.02).verdict, Verdict::kNoGo);
  EXPECT_EQ(decide(options, true, 0.015).verdict, Verdict::kGo);
}

TEST(Decision, WithoutEvidenceThereIsNoVerdict) {
  const std::vector<Option> options = {{ChangeKind::kPaths, {0.3, 0.2, 0.4}}};
  const Decision decision = decide(options, false, 0.02);
  EXPECT_EQ(decision.verdict, Verdict::kNoEvidence);
  EXPECT_FALSE(decision.first.has_value());
}

// In simulated trials of that length, the change is seen in about 8 of 10.
TEST(Decision, ATrialOfThatManyStepsSeesTheGainEightTimesOfTen) {
  constexpr double kGain = 0.05;
  constexpr double kVariation = 0.1;
  const uint64_t steps = steps_to_see(kGain, kVariation);
  EXPECT_EQ(steps, 63U);
  std::mt19937_64 random(1);
  std::normal_distribution<double> before(1, kVariation);
  std::normal_distribution<double> after(1 - kGain, kVariation);
  int seen = 0;
  constexpr int kTrials = 2'000;
  for (int trial = 0; trial < kTrials; ++trial) {
    double sum = 0;
    for (uint64_t i = 0; i < steps; ++i) sum += before(random) - after(random);
    const double error = kVariation * std::sqrt(2 / static_cast<double>(steps));
    if (std::abs(sum / static_cast<double>(steps)) > 1.96 * error) ++seen;
  }
  EXPECT_NEAR(static_cast<double>(seen) / kTrials, 0.8, 0.03);
}

TEST(Decision, TrialsAreNeitherTooShortNorWithoutEnd) {
  EXPECT_EQ(steps_to_see(0.5, 0.01), kLeastTrialSteps);
  EXPECT_EQ(steps_to_see(0.5, 0), kLeastTrialSteps);
  EXPECT_EQ(steps_to_see(1e-9, 10), 1'000'000U);
}

TEST(Decision, VariationIsTheDeviationOverTheMean) {
  const std::vector<double> values = {8, 10, 12};
  EXPECT_DOUBLE_EQ(variation_of(values), 0.2);
  EXPECT_EQ(variation_of(std::vector<double>{8}), 0);
}

}  // namespace
}  // namespace heddle::planner
