// Changes of a job: what becomes of its calls, bytes, waits and computation.
#include "planner/job_changes.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::planner {
namespace {

using topology::Action;
using topology::ActionKind;
using topology::CallKind;
using topology::Job;

constexpr uint64_t kBucket = 1'000'000;

Action computation(int64_t us) { return {.kind = ActionKind::kCompute, .span = micros(us)}; }
Action bucket(uint32_t label) {
  return {.kind = ActionKind::kCall,
          .call = CallKind::kAllReduce,
          .element_bytes = 4,
          .bytes = kBucket,
          .label = label};
}
Action wait(uint32_t label) { return {.kind = ActionKind::kWait, .label = label}; }

// A backward pass with four buckets, as DDP has it.
Job data_parallel() {
  Job job;
  topology::Program program;
  program.labels = {"b0", "b1", "b2", "b3"};
  program.actions.push_back(computation(1'000));
  for (uint32_t i = 0; i < 4; ++i) {
    program.actions.push_back(computation(100));
    program.actions.push_back(bucket(i));
  }
  for (uint32_t i = 0; i < 4; ++i) program.actions.push_back(wait(i));
  job.programs.push_back(program);
  job.communicators.push_back({"all", {0, 1}});
  for (uint32_t i = 0; i < 2; ++i) {
    job.ranks.push_back({.host = i, .program = 0, .communicators = {0}});
  }
  return job;
}

uint64_t bytes_of(const Job& job, CallKind kind) {
  uint64_t sum = 0;
  for (const Action& action : job.programs.front().actions) {
    if (action.kind == ActionKind::kCall && action.call == kind) sum += action.bytes;
  }
  return sum;
}
size_t calls_of(const Job& job, CallKind kind) {
  size_t count = 0;
  for (const Action& action : job.programs.front().actions) {
    count += action.kind == ActionKind::kCall && action.call == kind ? 1 : 0;
  }
  return count;
}
Nanos computed(const Job& job) {
  Nanos sum;
  for (const Action& action : job.programs.front().actions) {
    if (action.kind == ActionKind::kCompute) sum += action.span;
  }
  return sum;
}

TEST(JobChanges, MergedBucketsStartWithTheLastOfThem) {
  const Job job = data_parallel();
  const Job changed = merged(job, 2);
  EXPECT_EQ(calls_of(changed, CallKind::kAllReduce), 2U);
  EXPECT_EQ(bytes_of(changed, CallKind::kAllReduce), 4 * kBucket);
  EXPECT_EQ(computed(changed), computed(job));
  const std::vector<Action>& actions = changed.programs.front().actions;
  EXPECT_EQ(actions[3].label, 1U);  // after both computations
  EXPECT_EQ(actions[3].bytes, 2 * kBucket);
  EXPECT_EQ(actions[7].label, 1U);  // the wait for the first bucket
}

TEST(JobChanges, BucketsOfMoreThanThereAreBecomeOne) {
  EXPECT_EQ(calls_of(merged(data_parallel(), 99), CallKind::kAllReduce), 1U);
}

TEST(JobChanges, SplitBucketsShareTheirComputation) {
  const Job job = data_parallel();
  const Job changed = split(job, 4);
  EXPECT_EQ(calls_of(changed, CallKind::kAllReduce), 16U);
  EXPECT_EQ(bytes_of(changed, CallKind::kAllReduce), 4 * kBucket);
  EXPECT_EQ(computed(changed), computed(job));
}

TEST(JobChanges, SplittingKeepsWholeElements) {
  Job job = data_parallel();
  for (Action& action : job.programs.front().actions) {
    if (action.kind == ActionKind::kCall) action.bytes = 4 * 10'001;
  }
  const Job changed = split(job, 3);
  EXPECT_EQ(bytes_of(changed, CallKind::kAllReduce), 4U * 4 * 10'001);
  for (const Action& action : changed.programs.front().actions) EXPECT_EQ(action.bytes % 4, 0U);
}

TEST(JobChanges, ShardedJobsGatherWhatTheyReduced) {
  const Job job = data_parallel();
  const Job changed = sharded(job);
  EXPECT_EQ(calls_of(changed, CallKind::kAllReduce), 0U);
  EXPECT_EQ(bytes_of(changed, CallKind::kReduceScatter), 4 * kBucket);
  EXPECT_EQ(bytes_of(changed, CallKind::kAllGather), 4 * kBucket);
  EXPECT_EQ(computed(changed), computed(job));
  EXPECT_EQ(changed.programs.front().actions.front().call, CallKind::kAllGather);
}

TEST(JobChanges, AccumulationExchangesOnceAndComputesEachTime) {
  const Job job = data_parallel();
  const Job changed = accumulated(job, 4);
  EXPECT_EQ(bytes_of(changed, CallKind::kAllReduce), 4 * kBucket);
  EXPECT_EQ(computed(changed).count, 4 * computed(job).count);
}

TEST(JobChanges, BlockingCallsOfOneOfSeveralCommunicatorsAreNoGradients) {
  Job job = data_parallel();
  Action blocking = bucket(0);
  blocking.label = topology::kNoLabel;
  EXPECT_TRUE(exchanges_gradients(job, blocking));
  job.communicators.push_back({"tensor", {0, 1}});
  EXPECT_FALSE(exchanges_gradients(job, blocking));
  EXPECT_TRUE(exchanges_gradients(job, bucket(0)));
}

TEST(JobChanges, AlgorithmsOfOneOperationChange) {
  const topology::AlgorithmChoice tree{topology::CallAlgorithm::kTree};
  const Job changed = with_algorithm(data_parallel(), CallKind::kAllReduce, tree);
  for (const Action& action : changed.programs.front().actions) {
    if (action.kind != ActionKind::kCall) continue;
    EXPECT_EQ(action.algorithm, tree);
  }
  const Job same = with_algorithm(data_parallel(), CallKind::kBroadcast, tree);
  EXPECT_EQ(same, data_parallel());
}

TEST(JobChanges, RanksMoveToOtherHosts) {
  const Job changed = placed(data_parallel(), {5, 3});
  EXPECT_EQ(changed.ranks[0].host, 5U);
  EXPECT_EQ(changed.ranks[1].host, 3U);
}

// A recording of one bucket behind the backward pass has a wait right behind its call.
TEST(JobChanges, ABucketThatBlocksIsSplitIntoThoseThatBeginEarlier) {
  Job job = data_parallel();
  Action blocking = bucket(0);
  blocking.label = topology::kNoLabel;
  job.programs.front().actions = {{.kind = ActionKind::kCompute, .span = millis(4)}, blocking};
  job.programs.resize(1);
  EXPECT_EQ(buckets_of(job).count, 0U);
  EXPECT_EQ(buckets_of(job).largest_bytes, kBucket);
  const Job changed = split(job, 2);
  const std::vector<Action>& actions = changed.programs.front().actions;
  ASSERT_EQ(actions.size(), 5U);
  EXPECT_EQ(actions[0].span, millis(2));
  EXPECT_EQ(actions[2].span, millis(2));
  EXPECT_EQ(actions[1].bytes + actions[3].bytes, kBucket);
  EXPECT_EQ(actions[4].kind, ActionKind::kWait);
  for (const size_t at : {1U, 3U}) EXPECT_EQ(actions[at].label, actions[4].label);
  EXPECT_EQ(changed.programs.front().labels.size(), job.programs.front().labels.size() + 1);
}

TEST(JobChanges, BucketsAreCounted) {
  EXPECT_EQ(buckets_of(data_parallel()).count, 4U);
  EXPECT_EQ(buckets_of(data_parallel()).largest_bytes, kBucket);
}

}  // namespace
}  // namespace heddle::planner
