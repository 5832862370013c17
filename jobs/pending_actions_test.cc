// When actions of a rank may start: dependencies, lanes, and the order of calls.
#include "jobs/pending_actions.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace heddle::jobs {
namespace {

using topology::Action;
using topology::ActionKind;
using topology::CallKind;
using topology::kEveryLabel;

Action compute(int64_t us, uint32_t label, std::vector<uint32_t> after = {}, uint32_t lane = 0) {
  Action action{.kind = ActionKind::kCompute, .label = label, .lane = lane, .span = micros(us)};
  action.after = std::move(after);
  return action;
}

Action call(uint32_t communicator, uint32_t label, std::vector<uint32_t> after = {}) {
  Action action{.kind = ActionKind::kCall,
                .call = CallKind::kAllReduce,
                .communicator = communicator,
                .label = label};
  action.after = std::move(after);
  return action;
}

uint32_t label_of(const std::optional<PendingActions::Call>& call) {
  return call ? call->action->label : UINT32_MAX;
}

TEST(PendingActions, ACallStartsWhenTheActionsThatItNamesHaveEnded) {
  const std::vector<Action> all = {compute(3, 0), compute(5, 1, {}, 1), call(0, 2, {0, 1})};
  PendingActions pending;
  for (const Action& each : all) pending.add(each);
  EXPECT_FALSE(pending.compute(micros(0)));
  EXPECT_EQ(pending.next_end(), micros(3));
  EXPECT_TRUE(pending.compute(micros(3)));
  EXPECT_FALSE(pending.take_call());
  EXPECT_TRUE(pending.compute(micros(5)));
  const auto made = pending.take_call();
  ASSERT_TRUE(made);
  EXPECT_EQ(made->action->label, 2u);
  EXPECT_TRUE(pending.holds(2));
  pending.call_ended(made->number);
  EXPECT_FALSE(pending.holds(kEveryLabel));
  EXPECT_EQ(pending.computed(micros(9)), micros(5));  // both lanes at once
}

TEST(PendingActions, ALaneComputesOneAtATimeTheFirstThatMay) {
  const std::vector<Action> all = {call(0, 0), compute(4, 1, {0}), compute(2, 2)};
  PendingActions pending;
  for (const Action& each : all) pending.add(each);
  const auto made = pending.take_call();
  pending.compute(micros(0));
  EXPECT_EQ(pending.next_end(), micros(2));  // the second does not wait for the first
  pending.call_ended(made->number);
  pending.compute(micros(1));
  EXPECT_EQ(pending.next_end(), micros(2));
  pending.compute(micros(2));
  EXPECT_EQ(pending.next_end(), micros(6));
}

TEST(PendingActions, CallsOfACommunicatorStartInTheOrderOfTheProgram) {
  const std::vector<Action> all = {compute(3, 0), call(0, 1, {0}), call(0, 2), call(1, 3)};
  PendingActions pending;
  for (const Action& each : all) pending.add(each);
  EXPECT_EQ(label_of(pending.take_call()), 3u);
  EXPECT_FALSE(pending.take_call());
  pending.compute(micros(0));
  pending.compute(micros(3));
  EXPECT_EQ(label_of(pending.take_call()), 1u);
  EXPECT_EQ(label_of(pending.take_call()), 2u);
}

TEST(PendingActions, ALabelThatIsUsedAgainMeansTheNewestAction) {
  const std::vector<Action> all = {compute(3, 0), compute(9, 0, {}, 1), compute(1, 1, {0}, 2)};
  PendingActions pending;
  for (const Action& each : all) pending.add(each);
  pending.compute(micros(0));
  pending.compute(micros(3));
  EXPECT_EQ(pending.next_end(), micros(9));
  pending.compute(micros(9));
  EXPECT_EQ(pending.next_end(), micros(10));
}

TEST(PendingActions, AnActionWithoutDurationNeedsNoLane) {
  const std::vector<Action> all = {compute(3, 0), compute(0, 1), call(0, 2, {1})};
  PendingActions pending;
  pending.add(all[1]);
  pending.add(all[2]);
  pending.compute(micros(0));
  EXPECT_EQ(label_of(pending.take_call()), 2u);
  EXPECT_FALSE(pending.computing());
}

TEST(PendingActions, AStepForgetsItsLabels) {
  const std::vector<Action> all = {compute(3, 0), compute(1, 1, {0})};
  PendingActions pending;
  pending.add(all[0]);
  pending.compute(micros(0));
  pending.compute(micros(3));
  pending.end_step();
  EXPECT_EQ(pending.computed(micros(3)), Nanos{});
  pending.add(all[1]);
  pending.compute(micros(3));
  EXPECT_EQ(pending.next_end(), micros(4));
}

}  // namespace
}  // namespace heddle::jobs
