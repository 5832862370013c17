// Stragglers of made pipelines: one forward, one backward (1F1B), with durations that are known.
#include "insight/stragglers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "base/random.h"

namespace heddle::insight {
namespace {

using Operation = PipelineOperation;

constexpr double kForwardS = 1;
constexpr double kBackwardS = 2;

struct Shape {
  uint32_t steps = 3;
  uint32_t data_ranks = 2;
  uint32_t stages = 4;
  uint32_t microbatches = 8;
};

// A factor of a computation's duration.
using Factor = std::function<double(const PipelineEvent& event)>;

class Pipeline {
 public:
  Pipeline(Shape shape, Factor factor) : shape_(shape), factor_(std::move(factor)) {}

  std::vector<PipelineEvent> events() {
    for (uint32_t step = 0; step < shape_.steps; ++step) {
      for (uint32_t rank = 0; rank < shape_.data_ranks; ++rank) {
        for (uint32_t stage = 0; stage < shape_.stages; ++stage) add_worker(step, rank, stage);
      }
    }
    return events_;
  }

 private:
  void add(PipelineEvent event, double took_s) {
    event.start_s = now_;
    event.took_s = computes(event.operation) ? took_s * factor_(event) : took_s;
    now_ += 1;
    events_.push_back(event);
  }
  void add_compute(PipelineEvent event, Operation operation) {
    const bool forward = operation == Operation::kForward;
    const uint32_t last = shape_.stages - 1;
    event.operation = forward ? Operation::kForwardReceive : Operation::kBackwardReceive;
    if (event.stage != (forward ? 0 : last)) add(event, 0);
    event.operation = operation;
    add(event, forward ? kForwardS : kBackwardS);
    event.operation = forward ? Operation::kForwardSend : Operation::kBackwardSend;
    if (event.stage != (forward ? last : 0)) add(event, 0);
  }
  // Their starts are only an order.
  void add_worker(uint32_t step, uint32_t rank, uint32_t stage) {
    now_ = 0;
    PipelineEvent event = {.step = step, .data_rank = rank, .stage = stage};
    event.operation = Operation::kGatherParameters;
    add(event, 0);
    const uint32_t ahead = std::min(shape_.stages - stage - 1, shape_.microbatches);
    for (uint32_t i = 0; i < shape_.microbatches + ahead; ++i) {
      event.number = i;
      if (i < shape_.microbatches) add_compute(event, Operation::kForward);
      event.number = i - ahead;
      if (i >= ahead) add_compute(event, Operation::kBackward);
    }
    event.number = 0;
    for (const Operation operation :
         {Operation::kReduceGradients, Operation::kClipGradients, Operation::kOptimizer}) {
      event.operation = operation;
      add(event, 0);
    }
  }

  Shape shape_;
  Factor factor_;
  double now_ = 0;
  std::vector<PipelineEvent> events_;
};

Stragglers found_in(const Shape& shape, const Factor& factor) {
  const Result<Stragglers> found = find_stragglers(Pipeline(shape, factor).events());
  EXPECT_TRUE(found) << found.error().message();
  return found ? *found : Stragglers{};
}

double unit(Random& random) { return static_cast<double>(random.below(1000)) / 1000; }

double even(const PipelineEvent&) { return 1; }

TEST(Stragglers, AnEvenPipelineTakesItsBubbleAndNoMore) {
  for (const uint32_t stages : {1U, 2U, 4U, 7U}) {
    const Stragglers found = found_in({.stages = stages}, even);
    EXPECT_DOUBLE_EQ(found.measured_s, (8 + stages - 1) * (kForwardS + kBackwardS)) << stages;
    EXPECT_DOUBLE_EQ(found.slowdown, 1);
    EXPECT_EQ(found.stages, stages);
    EXPECT_EQ(found.microbatches, 8U);
    EXPECT_FALSE(found.is_slow());
    EXPECT_TRUE(found.by_operation[static_cast<size_t>(Operation::kForward)]);
    EXPECT_FALSE(found.by_operation[static_cast<size_t>(Operation::kCollectGarbage)]);
    EXPECT_EQ(found.by_operation[static_cast<size_t>(Operation::kForwardSend)].has_value(),
              stages > 1);
    EXPECT_TRUE(found.causes.empty());
  }
}

TEST(Stragglers, ASlowWorkerIsNamedAndExplainsTheSlowdown) {
  const Stragglers found = found_in({.data_ranks = 8}, [](const PipelineEvent& event) {
    return event.data_rank == 5 && event.stage == 2 ? 2.0 : 1.0;
  });
  EXPECT_GT(found.slowdown, 1.4);
  EXPECT_EQ(found.workers.front().data_rank, 5U);
  EXPECT_EQ(found.workers.front().stage, 2U);
  EXPECT_NEAR(found.slowest_workers_share, 1, 0.05);
  EXPECT_EQ(found.slowest_workers, 1U);
  EXPECT_NEAR(found.last_stage_share, 0, 0.05);
  EXPECT_EQ(found.causes, std::vector{StragglerCause::kWorkers});
  EXPECT_GT(found.by_stage[2], 1.4);
  EXPECT_LT(found.by_stage[1], 1.0);  // faster than the mean, which the slow worker raises
}

TEST(Stragglers, ALastStageWithMoreWorkExplainsTheSlowdown) {
  const Stragglers found = found_in(
      {.data_ranks = 16}, [](const PipelineEvent& event) { return event.stage == 3 ? 1.5 : 1.0; });
  EXPECT_GT(found.slowdown, 1.1);
  EXPECT_GT(found.last_stage_share, 0.9);
  EXPECT_LT(found.slowest_workers_share, 0.2);
  EXPECT_EQ(found.causes, std::vector{StragglerCause::kLastStage});
}

TEST(Stragglers, SequencesOfOtherLengthsCorrelateForwardAndBackward) {
  const auto length = [](const PipelineEvent& event) {
    Random random(event.step * 1000 + event.data_rank * 100 + event.number);
    return 0.5 + 2 * unit(random);
  };
  const Stragglers found = found_in({.steps = 8, .data_ranks = 8}, length);
  EXPECT_GT(found.slowdown, 1.1);
  EXPECT_GT(found.length_correlation, 0.99);
  EXPECT_EQ(found.causes, std::vector{StragglerCause::kSequenceLengths});
}

TEST(Stragglers, NoiseOfEachComputationIsNoLength) {
  Random random(3);
  const Stragglers found = found_in({.steps = 8, .data_ranks = 8}, [&random](const PipelineEvent&) {
    return 0.5 + 2 * unit(random);
  });
  EXPECT_LT(std::abs(found.length_correlation), 0.2);
}

TEST(Stragglers, AStepThatIsIncompleteIsLeftOut) {
  std::vector<PipelineEvent> events = Pipeline({}, even).events();
  const auto lost = std::find_if(events.begin(), events.end(),
                                 [](const PipelineEvent& event) { return event.step == 1; });
  events.erase(lost);
  const Result<Stragglers> found = find_stragglers(events);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->steps, 2U);
  EXPECT_EQ(found->steps_left_out, 1U);
}

TEST(Stragglers, TransfersMeetAndReducedGradientsAwaitAllDataRanks) {
  std::vector<PipelineEvent> events = Pipeline({.steps = 1, .stages = 2}, even).events();
  for (PipelineEvent& event : events) {
    if (event.operation == Operation::kForwardSend) event.took_s = 0.25;
    if (event.operation == Operation::kForwardReceive) event.took_s = 0.5;
    if (event.operation == Operation::kReduceGradients) event.took_s = event.data_rank == 0 ? 3 : 4;
  }
  const Result<Stragglers> found = find_stragglers(events);
  ASSERT_TRUE(found) << found.error().message();
  // Each forward transfer delays the second stage's computation, and the bubble has two of them;
  // the slowest reduction ends the step.
  const double compute = 9 * (kForwardS + kBackwardS);
  EXPECT_GE(found->measured_s, compute + 0.5 + 4);
  EXPECT_LE(found->measured_s, compute + 8 * 0.5 + 4);
}

void expect_refused(std::vector<PipelineEvent> events, const std::string& why) {
  const Result<Stragglers> found = find_stragglers(std::move(events));
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message().find(why), std::string::npos) << found.error().message();
}

TEST(Stragglers, WhatIsNoPipelineIsRefusedWithItsReason) {
  expect_refused({}, "there are no operations");
  const std::vector<PipelineEvent> whole = Pipeline({}, even).events();
  const auto without = [&whole](const std::function<bool(const PipelineEvent&)>& gone) {
    std::vector<PipelineEvent> events = whole;
    std::erase_if(events, gone);
    return events;
  };
  expect_refused(without([](const PipelineEvent& event) { return event.stage == 1; }),
                 "stage 1 does not compute each microbatch forward and backward");
  expect_refused(without([](const PipelineEvent& event) {
                   return event.operation == Operation::kForwardSend && event.number == 7;
                 }),
                 "stage 0 has 8 microbatches and 7 of forward-send");
  expect_refused(without([](const PipelineEvent& event) { return event.data_rank == 0; }),
                 "there are no operations of data-parallel rank 0");
  std::vector<PipelineEvent> backwards = whole;
  for (PipelineEvent& event : backwards) event.start_s = -event.start_s;
  expect_refused(backwards, "operations wait for each other");
  std::vector<PipelineEvent> far = whole;
  far.front().data_rank = 4'000'000'000;
  expect_refused(far, "no step has the operations of all");
  std::vector<PipelineEvent> idle = whole;
  for (PipelineEvent& event : idle) event.took_s = 0;
  expect_refused(idle, "all operations take no time");
}

TEST(Stragglers, NamesOfOperationsAreReadAsTheyAreWritten) {
  for (size_t i = 0; i < kPipelineOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    EXPECT_EQ(pipeline_operation(name_of(operation)), operation);
  }
  EXPECT_FALSE(pipeline_operation("forward"));
}

}  // namespace
}  // namespace heddle::insight
