// Stragglers of made pipelines: one forward, one backward (1F1B), with durations that are known.
#include "insight/stragglers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

TEST(Stragglers, DurationsThatDoNotVaryAreNoLengths) {
  for (const uint32_t microbatches : {5U, 10U, 12U}) {
    const Stragglers found =
        found_in({.microbatches = microbatches}, [](const PipelineEvent& event) {
          return event.stage == 3 ? 0.3 : 0.1;  // sums of these are rounded
        });
    EXPECT_EQ(found.length_correlation, 0) << microbatches;
    EXPECT_EQ(found.causes, std::vector{StragglerCause::kLastStage});
  }
}

TEST(Stragglers, AWorkerThatIsSlowInSomeStepsHasNoLengths) {
  Random random(5);
  const Stragglers found = found_in({.steps = 8}, [&random](const PipelineEvent& event) {
    const bool slow = event.data_rank == 1 && event.stage == 2 && event.step % 2 == 0;
    return (slow ? 3 : 1) + 0.01 * unit(random);
  });
  EXPECT_LT(found.length_correlation, 0.5);
  EXPECT_EQ(found.causes, std::vector{StragglerCause::kWorkers});
}

TEST(Stragglers, StepsAndOperationsHaveTheirSlowdown) {
  const Stragglers found = found_in({.steps = 2}, [](const PipelineEvent& event) {
    return event.step == 1 && event.data_rank == 0 && event.stage == 1 &&
                   event.operation == Operation::kBackward
               ? 2.0
               : 1.0;
  });
  ASSERT_EQ(found.by_step.size(), 2U);
  EXPECT_EQ(found.by_step[1].step, 1U);
  EXPECT_GT(found.by_step[1].slowdown, found.by_step[0].slowdown + 0.3);
  const auto slowdown_of = [&found](Operation operation) {
    return found.by_operation[static_cast<size_t>(operation)].value();
  };
  EXPECT_GT(slowdown_of(Operation::kBackward), 1.1);
  EXPECT_DOUBLE_EQ(slowdown_of(Operation::kForward), 1);
  EXPECT_GT(found.by_data_rank[0], found.by_data_rank[1]);
}

// Also the first one: recordings begin within a step.
TEST(Stragglers, AStepThatIsIncompleteIsLeftOut) {
  for (const uint32_t step : {0U, 1U}) {
    for (const uint32_t rank : {0U, 1U}) {
      std::vector<PipelineEvent> events = Pipeline({}, even).events();
      const auto lost = std::find_if(events.begin(), events.end(), [&](const PipelineEvent& event) {
        return event.step == step && event.data_rank == rank;
      });
      events.erase(lost);
      const Result<Stragglers> found = find_stragglers(events);
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_EQ(found->steps, 2U);
      EXPECT_EQ(found->steps_left_out, 1U);
    }
  }
}

TEST(Stragglers, TransfersBeginWhenBothAreThere) {
  std::vector<PipelineEvent> events =
      Pipeline({.steps = 1, .data_ranks = 1, .stages = 2, .microbatches = 1}, even).events();
  for (PipelineEvent& event : events) {
    if (event.operation == Operation::kForwardReceive) event.took_s = 0.5;
    if (event.operation == Operation::kBackwardReceive) event.took_s = 0.25;
  }
  const Result<Stragglers> found = find_stragglers(events);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_DOUBLE_EQ(found->measured_s, 2 * (kForwardS + kBackwardS) + 0.5 + 0.25);
}

// Rank 0 computes longer, rank 1 reduces longer: its reduction begins when rank 0 has come.
TEST(Stragglers, GradientsAreReducedWhenAllDataRanksAreThere) {
  const Shape shape = {.steps = 1, .stages = 1, .microbatches = 1};
  std::vector<PipelineEvent> events = Pipeline(shape, [](const PipelineEvent& event) {
                                        return event.data_rank == 0 ? 2.0 : 1.0;
                                      }).events();
  for (PipelineEvent& event : events) {
    if (event.operation == Operation::kReduceGradients) event.took_s = event.data_rank == 0 ? 3 : 4;
  }
  const Result<Stragglers> found = find_stragglers(events);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_DOUBLE_EQ(found->measured_s, 2 * (kForwardS + kBackwardS) + 4);
}

// Others are reduced beside the last computations, and end before what follows these.
TEST(Stragglers, WhatFollowsSeparateGradientsAwaitsTheOthers) {
  std::vector<PipelineEvent> events =
      Pipeline({.steps = 1, .data_ranks = 1, .stages = 1, .microbatches = 1}, even).events();
  for (PipelineEvent& event : events) {
    if (event.operation == Operation::kReduceGradients) event.took_s = 3;
    if (event.operation == Operation::kOptimizer) event.took_s = 0.5;
  }
  PipelineEvent separate = events.back();
  separate.operation = Operation::kReduceSeparateGradients;
  separate.took_s = 1;
  events.push_back(separate);
  const Result<Stragglers> found = find_stragglers(events);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_DOUBLE_EQ(found->measured_s, kForwardS + kBackwardS + 3 + 1 + 0.5);
}

void expect_refused(std::vector<PipelineEvent> events, const std::string& why) {
  const Result<Stragglers> found = find_stragglers(std::move(events));
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message().find(why), std::string::npos) << found.error().message();
}

TEST(Stragglers, EventsThatAreNoPipelineAreRefusedWithTheReason) {
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
                 "most steps have no operations of data-parallel rank 0");
  std::vector<PipelineEvent> backwards = whole;
  for (PipelineEvent& event : backwards) event.start_s = -event.start_s;
  expect_refused(backwards, "operations wait for each other");
  std::vector<PipelineEvent> twice = whole;
  twice.insert(twice.end(), whole.begin(), whole.end());
  expect_refused(twice, "forward-compute 0 of stage 0 is there twice");
  expect_refused(without([](const PipelineEvent& event) {
                   return event.operation == Operation::kForwardSend ||
                          event.operation == Operation::kForwardReceive;
                 }),
                 "stage 0 has 8 microbatches and 0 of forward-send");
  std::vector<PipelineEvent> renumbered = whole;
  for (PipelineEvent& event : renumbered)
    event.number += event.operation == Operation::kForwardSend ? 1 : 0;
  expect_refused(renumbered, "nothing receives forward-send 8 of stage 0");
  std::vector<PipelineEvent> unsound = whole;
  unsound.front().start_s = NAN;
  expect_refused(unsound, "out of range");
  std::vector<PipelineEvent> far = whole;
  far.front().data_rank = 4'000'000'000;
  expect_refused(far, "out of range");
  far.front().data_rank = 50'000;
  expect_refused(far, "no step has the operations of all");
  std::vector<PipelineEvent> idle = whole;
  for (PipelineEvent& event : idle) event.took_s = 0;
  expect_refused(idle, "computations and most communication take no time");
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
