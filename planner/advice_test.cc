// Gains of changes: their intervals, their order, and the reason where there is none.
#include "planner/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace heddle::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A step of 100 ms of which 40 are exposed, on a fabric where switches are the limit.
constexpr StepFacts kExposed{
    .step_s = 0.1, .exposed_s = 0.04, .longest_host_link_s = 0.01, .longest_switch_link_s = 0.03};

TEST(Advice, GainIsTheMeanOverSeedsWithStudentsInterval) {
  const std::vector<double> before = {1, 2, 4};
  const std::vector<double> after = {0.5, 1.2, 2.0};  // 0.5, 0.4, 0.5
  const Gain gain = gain_of(before, after);
  EXPECT_NEAR(gain.mean, 1.4 / 3, 1e-12);
  // Deviation 0.0577, over the root of 3, times 4.303.
  EXPECT_NEAR(gain.high - gain.mean, 0.1434, 1e-4);
  EXPECT_NEAR(gain.mean - gain.low, 0.1434, 1e-4);
  EXPECT_TRUE(gain.certain());
}

TEST(Advice, IntervalsOfMoreSeedsAreNarrower) {
  double before_s = 1;
  double width = 1e9;
  for (const size_t seeds : {2, 4, 8, 16, 32}) {
    const std::vector<double> before(seeds, before_s);
    std::vector<double> after;
    for (size_t i = 0; i < seeds; ++i) after.push_back(i % 2 == 0 ? 0.8 : 0.9);
    const Gain gain = gain_of(before, after);
    EXPECT_NEAR(gain.mean, 0.15, 1e-9);
    EXPECT_LT(gain.high - gain.low, width);
    width = gain.high - gain.low;
  }
}

TEST(Advice, EqualTimesGainNothing) {
  const std::vector<double> same = {3, 3};
  const Gain gain = gain_of(same, same);
  EXPECT_EQ(gain.mean, 0);
  EXPECT_FALSE(gain.certain());
  EXPECT_EQ(why_not(ChangeKind::kBuckets, kExposed, gain), NoAdvantage::kUncertain);
}

TEST(Advice, CertainGainsComeFirstThenOthersByTheirMeans) {
  const std::vector<Gain> gains = {
      {0.1, -0.1, 0.3}, {0.05, 0.04, 0.06}, {0.2, 0.1, 0.3}, {-1, -2, 0}};
  EXPECT_THAT(ranked(gains), ElementsAre(2, 1, 0, 3));
}

TEST(Advice, HiddenCommunicationHasNothingToGain) {
  StepFacts hidden = kExposed;
  hidden.exposed_s = 0.001;
  const Gain none{0, 0, 0};
  for (const ChangeKind kind :
       {ChangeKind::kRankOrder, ChangeKind::kAlgorithm, ChangeKind::kPaths}) {
    EXPECT_EQ(why_not(kind, hidden, none), NoAdvantage::kHidden);
  }
  EXPECT_THAT(reason_text(NoAdvantage::kHidden, hidden, none),
              HasSubstr("1.00 ms of a step of 100.00 ms"));
}

TEST(Advice, NoPlanHelpsAgainstTheHostsOwnLinksOrWithOneRoute) {
  StepFacts facts = kExposed;
  const Gain none{0, 0, 0};
  facts.paths = NoGain::kNics;
  facts.longest_host_link_s = 0.03;
  facts.longest_switch_link_s = 0.01;
  EXPECT_EQ(why_not(ChangeKind::kPathPlan, facts, none), NoAdvantage::kHostLinks);
  EXPECT_EQ(why_not(ChangeKind::kPlacement, facts, none), NoAdvantage::kHostLinks);
  EXPECT_THAT(reason_text(NoAdvantage::kHostLinks, facts, none),
              HasSubstr("the busiest takes 30.00 ms, the busiest between switches 10.00 ms"));
  facts.paths = NoGain::kOneRoute;
  EXPECT_EQ(why_not(ChangeKind::kPathPlan, facts, none), NoAdvantage::kOnePath);
  facts.paths = NoGain::kEven;
  EXPECT_EQ(why_not(ChangeKind::kPaths, facts, none), NoAdvantage::kEven);
}

TEST(Advice, ChangesThatCostAreNamedWithTheirCost) {
  const Gain costs{-0.2, -0.25, -0.15};
  EXPECT_EQ(why_not(ChangeKind::kAlgorithm, kExposed, costs), NoAdvantage::kCosts);
  EXPECT_THAT(reason_text(NoAdvantage::kCosts, kExposed, costs), HasSubstr("20.0% longer"));
}

TEST(Advice, AGainThatIsMeasuredCountsWhateverTheFacts) {
  StepFacts hidden = kExposed;
  hidden.exposed_s = 0;
  EXPECT_EQ(why_not(ChangeKind::kBuckets, hidden, {0.1, 0.05, 0.15}), NoAdvantage::kGains);
}

TEST(Advice, SimulatedStepsAreComparedWithTheRecordedOnes) {
  EXPECT_NEAR(off_by(1.1, 1.0), 0.1, 1e-12);
  EXPECT_NEAR(off_by(0.9, 1.0), -0.1, 1e-12);
}

}  // namespace
}  // namespace heddle::planner
