// Recorded jobs cut into steps: by marks, by calls that repeat, and recordings that have none.
#include "planner/recorded_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace heddle::planner {
namespace {

using testing::HasSubstr;
using topology::Action;
using topology::ActionKind;
using topology::CallKind;

// One rank's program, as a recording has it: actions and when it came to them.
class Recorded {
 public:
  Recorded() {
    job.programs.emplace_back();
    job.programs.front().labels = {"c0", "c1"};
    job.communicators.push_back({"all", {0}});
    job.ranks.push_back({.host = 0, .program = 0, .communicators = {0}});
    trails.emplace_back();
  }
  void mark(Nanos before = {}) { trails.front().steps.push_back({actions().size(), now_, before}); }
  void compute(int64_t us) {
    now_ += micros(us);
    push({.kind = ActionKind::kCompute, .span = micros(us)});
  }
  void call(uint64_t bytes, uint32_t label = topology::kNoLabel) {
    push({.kind = ActionKind::kCall, .call = CallKind::kAllReduce, .bytes = bytes, .label = label});
    now_ += micros(10);
  }
  void wait(uint32_t label) { push({.kind = ActionKind::kWait, .label = label}); }
  std::vector<Action>& actions() { return job.programs.front().actions; }
  Result<RecordedSteps> cut(uint64_t calls_per_step = 0) {
    trails.front().ended = now_;
    return cut_steps(job, trails, calls_per_step);
  }

  topology::Job job;
  std::vector<RankTrail> trails;

 private:
  void push(const Action& action) {
    actions().push_back(action);
    trails.front().at.push_back(now_);
  }
  Nanos now_;
};

TEST(RecordedSteps, MarksBeginSteps) {
  Recorded recorded;
  for (int step = 0; step < 5; ++step) {
    recorded.mark();
    recorded.compute(100);
    recorded.call(1'000);
    recorded.call(2'000);
  }
  const auto steps = recorded.cut();
  ASSERT_TRUE(steps.has_value()) << steps.error().why;
  EXPECT_TRUE(steps->marked);
  EXPECT_EQ(steps->jobs.size(), 3U);
  EXPECT_EQ(steps->left_out, 2U);  // the first, and the last
  for (const Nanos took : steps->took) EXPECT_EQ(took, micros(120));
  EXPECT_EQ(steps->jobs.front().programs.front().actions.size(), 3U);
}

TEST(RecordedSteps, AMarkInsideAComputationDividesIt) {
  Recorded recorded;
  for (int step = 0; step < 5; ++step) {
    recorded.mark(micros(30));
    recorded.compute(100);
    recorded.call(1'000);
  }
  const auto steps = recorded.cut();
  ASSERT_TRUE(steps.has_value()) << steps.error().why;
  const std::vector<Action>& actions = steps->jobs.front().programs.front().actions;
  ASSERT_EQ(actions.size(), 3U);
  EXPECT_EQ(actions[0].span, micros(70));
  EXPECT_EQ(actions[2].span, micros(30));
}

TEST(RecordedSteps, AStepWaitsAtItsEndForWhatItCalled) {
  Recorded recorded;
  for (int step = 0; step < 5; ++step) {
    recorded.mark();
    recorded.wait(1);  // of the step before
    recorded.call(1'000, 0);
    recorded.wait(0);
    recorded.call(2'000, 1);
  }
  const auto steps = recorded.cut();
  ASSERT_TRUE(steps.has_value()) << steps.error().why;
  const std::vector<Action>& actions = steps->jobs.front().programs.front().actions;
  ASSERT_EQ(actions.size(), 4U);
  EXPECT_EQ(actions[1].label, 0U);
  EXPECT_EQ(actions[3].kind, ActionKind::kWait);
  EXPECT_EQ(actions[3].label, topology::kEveryLabel);
}

TEST(RecordedSteps, WithoutMarksTheShortestSequenceThatRepeatsIsAStep) {
  Recorded recorded;
  recorded.call(7);  // before the first step
  for (int step = 0; step < 6; ++step) {
    recorded.call(1'000);
    recorded.compute(50);
    recorded.call(2'000);
    recorded.call(2'000);
  }
  const auto steps = recorded.cut();
  ASSERT_TRUE(steps.has_value()) << steps.error().why;
  EXPECT_FALSE(steps->marked);
  EXPECT_GE(steps->jobs.size(), kLeastSteps);
  for (const Nanos took : steps->took) EXPECT_EQ(took, micros(80));
}

TEST(RecordedSteps, CallsOfAStepCanBeGiven) {
  Recorded recorded;
  for (int call = 0; call < 12; ++call) recorded.call(1'000);
  const auto steps = recorded.cut(2);
  ASSERT_TRUE(steps.has_value()) << steps.error().why;
  EXPECT_FALSE(steps->marked);
  for (const Nanos took : steps->took) EXPECT_EQ(took, micros(20));
}

// What a rank computed after its last call is not recorded: hidden communication looked exposed.
TEST(RecordedSteps, TheLastStepWhoseEndIsNotMarkedIsLeftOut) {
  Recorded recorded;
  for (int step = 0; step < 6; ++step) {
    recorded.mark();
    recorded.call(1'000);
    if (step < 5) recorded.compute(1'000);
  }
  const auto steps = recorded.cut();
  ASSERT_TRUE(steps.has_value()) << steps.error().why;
  EXPECT_EQ(steps->jobs.size(), 4U);
  for (const double share : waiting_shares(*steps)) EXPECT_NEAR(share, 10.0 / 1'010, 1e-9);
}

TEST(RecordedSteps, StepsWithOtherCallsAreLeftOut) {
  Recorded recorded;
  for (int step = 0; step < 9; ++step) {
    recorded.mark();
    recorded.call(step == 2 ? 5 : 1'000);
  }
  const auto steps = recorded.cut();
  ASSERT_TRUE(steps.has_value()) << steps.error().why;
  EXPECT_EQ(steps->jobs.size(), 6U);
  EXPECT_EQ(steps->left_out, 3U);
}

TEST(RecordedSteps, WithoutStepsThereIsNoAdvice) {
  Recorded recorded;
  for (int call = 1; call < 10; ++call) recorded.call(static_cast<uint64_t>(call));
  const auto none = recorded.cut();
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(none.error().why, HasSubstr("marks no steps, and its 9 calls do not repeat"));
}

TEST(RecordedSteps, TooFewAndIrregularStepsAreNoEvidence) {
  Recorded few;
  for (int step = 0; step < 3; ++step) {
    few.mark();
    few.call(1'000);
  }
  EXPECT_THAT(few.cut().error().why, HasSubstr("it has 3 steps"));
  Recorded irregular;
  for (int step = 0; step < 8; ++step) {
    irregular.mark();
    irregular.call(static_cast<uint64_t>(1'000 + step));
  }
  EXPECT_THAT(irregular.cut().error().why, HasSubstr("the pattern is irregular"));
}

}  // namespace
}  // namespace heddle::planner
