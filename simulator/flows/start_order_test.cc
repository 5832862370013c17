// Which flow starts next, by its time or by a trigger.
#include "simulator/flows/start_order.h"

#include <gtest/gtest.h>

#include <optional>

namespace heddle::simulator {
namespace {

using topology::TriggerKind;

topology::Flow flow_at(Nanos start) {
  topology::Flow flow;
  flow.start = start;
  return flow;
}

topology::Flow flow_after(uint32_t trigger) {
  topology::Flow flow;
  flow.waits_for = trigger;
  return flow;
}

topology::Trigger trigger(TriggerKind kind, uint32_t count = 1) {
  topology::Trigger made;
  made.kind = kind;
  made.count = count;
  return made;
}

TEST(StartOrder, FlowsStartByTheirTimesAndOfOneTimeInTheWorkloadsOrder) {
  topology::Workload workload;
  workload.flows = {flow_at(micros(5)), flow_at(micros(1)), flow_at(micros(5))};
  StartOrder order(workload);
  EXPECT_EQ(order.next_at(), micros(1));
  EXPECT_EQ(order.take_due(Nanos{}), std::nullopt);
  EXPECT_EQ(order.take_due(micros(1)), 1u);
  EXPECT_EQ(order.take_due(micros(4)), std::nullopt);
  EXPECT_EQ(order.take_due(micros(9)), 0u);
  EXPECT_FALSE(order.all_taken());
  EXPECT_EQ(order.take_due(micros(9)), 2u);
  EXPECT_TRUE(order.all_taken());
  EXPECT_EQ(order.next_at(), Nanos::never());
}

TEST(StartOrder, ABarrierFiresAtItsLastEndAndStartsAll) {
  topology::Workload workload;
  workload.triggers = {trigger(TriggerKind::kBarrier, 3)};
  workload.flows = {flow_after(0), flow_after(0)};
  StartOrder order(workload);
  EXPECT_TRUE(order.all_taken()) << "both wait for the trigger";
  EXPECT_FALSE(order.count_end(0));
  EXPECT_FALSE(order.count_end(0));
  EXPECT_TRUE(order.count_end(0));
  EXPECT_FALSE(order.starts_one(0));
  EXPECT_EQ(order.take_waiting(0), 0u);
  EXPECT_EQ(order.take_waiting(0), 1u);
  EXPECT_EQ(order.take_waiting(0), std::nullopt);
}

TEST(StartOrder, ATriggerOfEachStartsOneFlowAnEnd) {
  topology::Workload workload;
  workload.triggers = {trigger(TriggerKind::kEach)};
  workload.flows = {flow_after(0), flow_at({}), flow_after(0)};
  StartOrder order(workload);
  EXPECT_TRUE(order.starts_one(0));
  EXPECT_TRUE(order.count_end(0));
  EXPECT_EQ(order.take_waiting(0), 0u);
  EXPECT_TRUE(order.count_end(0));
  EXPECT_EQ(order.take_waiting(0), 2u);
}

}  // namespace
}  // namespace heddle::simulator
