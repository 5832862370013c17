// The results of the processes of a replay are merged to those of the whole job.
#include "jobs/replay_results.h"

#include <gtest/gtest.h>

#include <string>

namespace heddle::jobs {
namespace {

topology::Workload two_ranks_and_a_flow() {
  topology::Workload workload;
  topology::Job job;
  job.ranks.resize(2);
  job.communicators = {{.name = "world", .ranks = {0, 1}}};
  workload.jobs = {job};
  workload.flows = {{.id = 5, .from = 0, .to = 1, .bytes = {100}}};
  return workload;
}

JobOutcome outcome_of(Nanos called, Nanos ended) {
  JobOutcome outcome;
  outcome.steps = {{.begun = called,
                    .ended = ended,
                    .computed_most = micros(3),
                    .computed = micros(3),
                    .exposed = ended - called,
                    .exposed_most = ended - called,
                    .ranks_ended = 1}};
  outcome.calls = {{{.call = topology::CallKind::kAllReduce,
                     .algorithm = topology::CallAlgorithm::kTree,
                     .bytes = 64,
                     .called = called,
                     .last_called = called,
                     .ended = ended,
                     .ranks_ended = 1}}};
  outcome.messages = 1;
  outcome.message_bytes = 10;
  outcome.ranks_done = 1;
  return outcome;
}

TEST(ReplayResults, StepsAndCallsGoFromTheFirstRanksBeginToTheLastOnesEnd) {
  const topology::Workload workload = two_ranks_and_a_flow();
  ReplayResults results(workload);
  const ReplayCounts counts{.segments_sent = 4, .segments_retransmitted = 1};
  for (const std::string& record : {record_of_job(0, outcome_of(micros(2), micros(9)), counts),
                                    record_of_job(0, outcome_of(micros(1), micros(8)), counts)}) {
    ASSERT_TRUE(add_record(workload, record, results).has_value());
  }
  const JobOutcome& job = results.jobs[0];
  ASSERT_EQ(job.steps.size(), 1U);
  EXPECT_EQ(job.steps[0].begun, micros(1));
  EXPECT_EQ(job.steps[0].ended, micros(9));
  EXPECT_EQ(job.steps[0].computed, micros(6));
  EXPECT_EQ(job.steps[0].computed_most, micros(3));
  EXPECT_EQ(job.steps[0].exposed, micros(14));
  EXPECT_EQ(job.steps[0].ranks_ended, 2U);
  ASSERT_EQ(job.calls[0].size(), 1U);
  const CallOutcome& call = job.calls[0][0];
  EXPECT_EQ(call.algorithm, topology::CallAlgorithm::kTree);
  EXPECT_EQ(call.called, micros(1));
  EXPECT_EQ(call.last_called, micros(2));
  EXPECT_EQ(call.ended, micros(9));
  EXPECT_EQ(call.ranks_ended, 2U);
  EXPECT_EQ(job.messages, 2U);
  EXPECT_EQ(job.ranks_done, 2U);
  EXPECT_TRUE(job.error.empty());
  EXPECT_EQ(results.counts.segments_sent, 8U);
}

TEST(ReplayResults, SenderAndReceiverTellOfAFlow) {
  const topology::Workload workload = two_ranks_and_a_flow();
  ReplayResults results(workload);
  std::vector<simulator::FlowOutcome> sender(1);
  sender[0].started = micros(1);
  sender[0].acked = micros(7);
  sender[0].handshake = micros(2);
  std::vector<simulator::FlowOutcome> receiver(1);
  receiver[0].received = micros(6);
  ASSERT_TRUE(
      add_record(workload, record_of_flows(workload, 1, receiver, {}), results).has_value());
  ASSERT_TRUE(add_record(workload, record_of_flows(workload, 0, sender, {}), results).has_value());
  EXPECT_EQ(results.flows[0].started, micros(1));
  EXPECT_EQ(results.flows[0].received, micros(6));
  EXPECT_EQ(results.flows[0].acked, micros(7));
  EXPECT_EQ(results.flows[0].handshake, micros(2));
  EXPECT_FALSE(results.flows[0].failed);
}

TEST(ReplayResults, WhyAFlowFailedIsKept) {
  const topology::Workload workload = two_ranks_and_a_flow();
  ReplayResults results(workload);
  std::vector<simulator::FlowOutcome> sender(1);
  sender[0].failed = true;
  sender[0].error = ErrorCode::kPeerDead;
  ASSERT_TRUE(add_record(workload, record_of_flows(workload, 0, sender, {}), results).has_value());
  EXPECT_TRUE(results.flows[0].failed);
  EXPECT_EQ(results.flows[0].error, ErrorCode::kPeerDead);
  EXPECT_EQ(results.flows[0].received, Nanos::never());
}

TEST(ReplayResults, TheErrorIsThatOfTheRankThatFailedFirst) {
  const topology::Workload workload = two_ranks_and_a_flow();
  ReplayResults results(workload);
  JobOutcome later;
  later.error = "rank 0: its peer is gone";
  later.failed_at = micros(9);
  JobOutcome first;
  first.error = "rank 1: waits for ever";
  first.failed_at = micros(5);
  for (const JobOutcome& each : {later, first, JobOutcome()}) {
    ASSERT_TRUE(add_record(workload, record_of_job(0, each, {}), results).has_value());
  }
  EXPECT_EQ(results.jobs[0].error, first.error);
  EXPECT_EQ(results.jobs[0].failed_at, first.failed_at);
}

TEST(ReplayResults, MalformedRecordsAreRefused) {
  const topology::Workload workload = two_ranks_and_a_flow();
  ReplayResults results(workload);
  const std::string good = record_of_job(0, outcome_of(micros(2), micros(9)), {});
  EXPECT_FALSE(add_record(workload, "", results).has_value());
  EXPECT_FALSE(add_record(workload, "no CBOR", results).has_value());
  EXPECT_FALSE(add_record(workload, good.substr(0, good.size() / 2), results).has_value());
  EXPECT_FALSE(add_record(workload, record_of_job(3, {}, {}), results).has_value());
}

}  // namespace
}  // namespace heddle::jobs
