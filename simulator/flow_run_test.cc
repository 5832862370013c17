// Flows of workloads on simulated fabrics: completion times compared with link rates, triggers,
// faults, and determinism.
#include "simulator/flow_run.h"

#include <gtest/gtest.h>

#include "base/testing/sanitized.h"
#include "events/memory_sink.h"
#include "topology/generators.h"
#include "topology/names.h"
#include "topology/workload_patterns.h"

namespace heddle::simulator {
namespace {

using topology::Flow;
using topology::TriggerKind;
using topology::Workload;

constexpr topology::LinkShape kLink{.rate = gigabits_per_s(100), .mtu_bytes = 4'154};

topology::Topology fabric() {
  return topology::leaf_spine(
      {.leaves = 4, .spines = 4, .hosts_per_leaf = 4, .host_link = kLink, .spine_link = kLink});
}

std::vector<uint32_t> hosts(uint32_t count) {
  std::vector<uint32_t> all(count);
  for (uint32_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

Workload permutation(uint64_t seed = 1) {
  Workload workload;
  Random random(seed);
  add_permutation(workload, hosts(16), {.bytes = {2'000'000}}, random);
  return workload;
}

void finish(FlowRun& run, Nanos until = seconds(1)) {
  while (run.advance(until, 100'000)) {
  }
}

// Advances without a time limit. A run that has not ended after a million further events is taken
// to be endless.
bool ends_by_itself(FlowRun& run) {
  for (int i = 0; i < 10; ++i) {
    if (!run.advance(Nanos::never(), 100'000)) return true;
  }
  return false;
}

Nanos took(const FlowRun& run, size_t flow) {
  return run.outcomes()[flow].received - run.outcomes()[flow].started;
}

// 2 MB in segments of 4,086 bytes, each 4,192 on the wire, take 164.2 us at 100 Gb/s.
constexpr Nanos kAlone = nanos(490 * 336);

TEST(FlowRunTest, ASingleFlowTakesTheTimeOfItsLinks) {
  const Workload workload{.flows = {{.id = 1, .from = 0, .to = 15, .bytes = {2'000'000}}}};
  FlowRun run(fabric(), workload, {});
  finish(run);
  EXPECT_EQ(run.ended(), 1u);
  EXPECT_EQ(run.wrong(), 0u);
  EXPECT_GE(took(run, 0), kAlone + micros(4)) << "four hops of 1 us";
  EXPECT_LE(took(run, 0), kAlone + micros(60)) << "slow start and the last acknowledgement";
  EXPECT_GT(run.outcomes()[0].handshake, micros(8)) << "a round trip at least";
  EXPECT_GT(run.outcomes()[0].acked, run.outcomes()[0].received);
}

TEST(FlowRunTest, EqualSeedsGiveEqualHistories) {
  std::vector<uint64_t> histories;
  for (const uint64_t seed : {7u, 7u, 8u}) {
    FlowRun run(fabric(), permutation(), {.seed = seed, .paths = 8});
    finish(run);
    EXPECT_EQ(run.ended(), 16u);
    histories.push_back(run.network().trace_hash());
  }
  EXPECT_EQ(histories[0], histories[1]);
  EXPECT_NE(histories[0], histories[2]);
}

// Regression: a sender below the receiver's own switch has a third of the others' round trip. The
// receiver applied it to all senders and gave too little credit, so the link was half idle until it
// adapted.
TEST(FlowRunTest, TailOfAnIncastFromNearAndFarIsWithinThreePercentOfTheLink) {
  for (const uint64_t queue : {kibibytes(1024).count, kibibytes(100).count}) {
    topology::LinkShape link = kLink;
    link.queue = {queue};
    topology::Topology topology = topology::fat_tree({.pods = 8,
                                                      .leaves_per_pod = 4,
                                                      .spines_per_pod = 4,
                                                      .cores_per_spine = 4,
                                                      .hosts_per_leaf = 4,
                                                      .host_link = link,
                                                      .switch_link = link,
                                                      .core_link = link});
    for (topology::Switch& one : topology.switches) one.shape.trims = true;
    Workload workload;  // host 1 is below the same leaf, 9 in the same pod, the others are far
    for (uint32_t i = 0; i < 15; ++i) {
      workload.flows.push_back({.id = i + 1, .from = 1 + 8 * i, .to = 0, .bytes = {2'000'000}});
    }
    const int64_t link_ns = kAlone.count * static_cast<int64_t>(workload.flows.size());
    FlowRun run(topology, workload, {.congestion = "credits", .paths = 64});
    finish(run);
    Nanos last;
    for (const FlowOutcome& outcome : run.outcomes()) last = std::max(last, outcome.received);
    EXPECT_GE(last.count, link_ns);
    EXPECT_LE(last.count, link_ns * 103 / 100);
    for (LinkId id = 0; id < 2 * topology.links.size(); ++id) {
      EXPECT_LE(run.network().counters(id).queued_bytes_max, 150'000u);
    }
  }
}

// With every congestion controller. Optimized and sanitizer builds must produce the same numbers,
// so neither floating point nor address order may affect them. A protocol change alters them:
// replace them by the numbers that the test prints.
TEST(FlowRunTest, HistoryIsTheSameInEveryBuild) {
  struct Known {
    const char* congestion;
    uint64_t history;
  };
  constexpr Known kKnown[] = {{"cubic", 3223684829096708781u},
                              {"swift", 151461505732662322u},
                              {"dctcp", 14636196981140240592u},
                              {"credits", 10342986206292947975u}};
  topology::LinkShape link = kLink;
  link.queue = kibibytes(128);
  link.ecn_threshold = kibibytes(20);
  link.ecn_ramp = kibibytes(40);
  link.ecn_ramp_per_million = 200'000;
  const topology::Topology lossy = topology::leaf_spine(
      {.leaves = 4, .spines = 2, .hosts_per_leaf = 4, .host_link = link, .spine_link = link});
  for (const Known& known : kKnown) {
    FlowRun run(lossy, permutation(3), {.congestion = known.congestion, .paths = 8});
    finish(run);
    EXPECT_EQ(run.ended(), 16u);
    EXPECT_EQ(run.network().trace_hash(), known.history) << known.congestion;
  }
}

TEST(FlowRunTest, SteppingDoesNotChangeTheHistory) {
  FlowRun whole(fabric(), permutation(), {});
  finish(whole);
  FlowRun stepped(fabric(), permutation(), {});
  while (stepped.advance(seconds(1), 17)) {
  }
  EXPECT_EQ(whole.network().trace_hash(), stepped.network().trace_hash());
}

TEST(FlowRunTest, OnePathCollidesAndManyPathsDoNot) {
  Nanos tails[2];
  for (const uint16_t paths : {1, 64}) {
    FlowRun run(fabric(), permutation(), {.paths = paths});
    finish(run);
    Nanos& tail = tails[paths > 1];
    for (size_t i = 0; i < 16; ++i) tail = std::max(tail, took(run, i));
  }
  EXPECT_GE(tails[0], 2 * kAlone) << "two flows share a link";
  EXPECT_LE(tails[1], 2 * kAlone);
}

TEST(FlowRunTest, StartTimesAndTriggersStartFlows) {
  Workload workload;
  for (uint32_t i = 0; i < 5; ++i) {
    workload.flows.push_back({.id = i + 1, .from = i, .to = i + 5, .bytes = {100'000}});
  }
  workload.triggers = {{TriggerKind::kBarrier, 2}, {TriggerKind::kEach}};
  workload.flows[0].start = micros(100);
  workload.flows[0].when_received = workload.flows[1].when_received = 0;
  workload.flows[2].waits_for = 0;
  workload.flows[2].when_sent = 1;
  workload.flows[3].waits_for = workload.flows[4].waits_for = 1;
  FlowRun run(fabric(), workload, {});
  EXPECT_TRUE(ends_by_itself(run));
  const auto outcomes = run.outcomes();
  EXPECT_EQ(outcomes[0].started, micros(100));
  EXPECT_EQ(outcomes[1].started, Nanos{});
  EXPECT_EQ(outcomes[2].started, std::max(outcomes[0].received, outcomes[1].received));
  EXPECT_EQ(outcomes[3].started, outcomes[2].acked);
  EXPECT_EQ(outcomes[4].started, Nanos::never()) << "each end starts one";
  EXPECT_EQ(run.ended(), 4u);
}

TEST(FlowRunTest, FlowsWithoutAPossibleTriggerDoNotKeepTheRunGoing) {
  Workload workload{.flows = {{.id = 1, .from = 0, .to = 9, .bytes = {1'000}, .start = micros(300)},
                              {.id = 2, .from = 1, .to = 8, .bytes = {1'000}, .waits_for = 0}},
                    .triggers = {{TriggerKind::kOnce}}};
  FlowRun run(fabric(), workload, {});
  EXPECT_TRUE(ends_by_itself(run));
  EXPECT_TRUE(run.over());
  EXPECT_EQ(run.ended(), 1u);
  EXPECT_NE(run.outcomes()[0].received, Nanos::never()) << "what has yet to begin is waited for";
  EXPECT_EQ(run.outcomes()[1].started, Nanos::never());
  EXPECT_FALSE(run.outcomes()[1].failed);
}

TEST(FlowRunTest, ARunInWhichNoFlowCanStartEndsAtOnce) {
  const Workload workload{
      .flows = {{.id = 1, .from = 0, .to = 9, .bytes = {1'000}, .waits_for = 0}},
      .triggers = {{TriggerKind::kOnce}}};
  FlowRun run(fabric(), workload, {});
  EXPECT_TRUE(ends_by_itself(run));
  EXPECT_EQ(run.now(), Nanos{});
  EXPECT_EQ(run.ended(), 0u);
}

TEST(FlowRunTest, FlowsBehindAFailedOneDoNotKeepTheRunGoing) {
  topology::Topology broken = fabric();
  broken.changes.push_back({.at = micros(50), .link = 0});
  const Workload workload{
      .flows = {{.id = 1, .from = 0, .to = 8, .bytes = {2'000'000}, .when_received = 0},
                {.id = 2, .from = 1, .to = 9, .bytes = {1'000}, .waits_for = 0}},
      .triggers = {{TriggerKind::kOnce}}};
  FlowRun run(broken, workload, {});
  EXPECT_TRUE(ends_by_itself(run));
  EXPECT_TRUE(run.outcomes()[0].failed);
  EXPECT_EQ(run.outcomes()[1].started, Nanos::never());
}

// The sender fails some ms before the receiver does. Flows that start in between get the same
// error.
TEST(FlowRunTest, AFlowOverALostConnectionFailsWithItsError) {
  topology::Topology broken = fabric();
  broken.changes.push_back({.at = micros(50), .link = 0});
  Workload workload{.flows = {{.id = 1, .from = 0, .to = 8, .bytes = {2'000'000}}}};
  for (uint32_t i = 0; i < 200; ++i) {
    workload.flows.push_back(
        {.id = i + 2, .from = 0, .to = 8, .bytes = {1'000}, .start = millis(5'000 + i)});
  }
  FlowRun run(broken, workload, {});
  EXPECT_TRUE(ends_by_itself(run));
  for (const FlowOutcome& outcome : run.outcomes()) {
    EXPECT_TRUE(outcome.failed);
    EXPECT_EQ(outcome.error, ErrorCode::kPeerDead);
  }
}

TEST(FlowRunTest, FlowsOfOnePairShareAConnectionAndAllArrive) {
  Workload workload;
  for (uint32_t i = 0; i < 200; ++i) {
    workload.flows.push_back({.id = i + 1, .from = 0, .to = 9, .bytes = {1 + 999 * i}});
  }
  FlowRun run(fabric(), workload, {});
  finish(run);
  EXPECT_EQ(run.ended(), 200u);
  EXPECT_EQ(run.wrong(), 0u);
  for (const FlowOutcome& outcome : run.outcomes()) EXPECT_FALSE(outcome.failed);
}

TEST(FlowRunTest, HostsWithSeveralNicsUseThem) {
  const topology::Topology rails = topology::leaf_spine({.leaves = 4,
                                                         .spines = 2,
                                                         .hosts_per_leaf = 2,
                                                         .host_link = kLink,
                                                         .spine_link = kLink,
                                                         .nics_per_host = 2,
                                                         .rails = true});
  const Workload workload{.flows = {{.id = 1, .from = 0, .to = 3, .bytes = {8'000'000}}}};
  FlowRun run(rails, workload, {});
  finish(run);
  EXPECT_LT(took(run, 0), 4 * kAlone) << "one NIC alone takes longer";
}

TEST(FlowRunTest, FaultsOfTheTopologyCountFromTheFirstFlow) {
  topology::Topology broken = fabric();
  for (const uint32_t link : {0u, 1u}) {
    broken.changes.push_back({.at = micros(50), .link = link});
  }
  Workload workload{.flows = {{.id = 1, .from = 4, .to = 9, .bytes = {2'000'000}},
                              {.id = 2, .from = 0, .to = 8, .bytes = {2'000'000}}}};
  FlowRun run(broken, workload, {});
  finish(run, seconds(20));
  EXPECT_LE(took(run, 0), kAlone + micros(60));
  EXPECT_TRUE(run.outcomes()[1].failed) << "its host has lost the network";
  EXPECT_EQ(run.outcomes()[1].error, ErrorCode::kPeerDead);
  EXPECT_EQ(run.ended(), 2u);
}

TEST(FlowRunTest, AFailedLinkIsExcludedFromTheStart) {
  topology::Topology topology = fabric();
  Workload workload = permutation();
  for (const char* spine : {"spine0", "spine1", "spine2"}) {
    workload.failed_links.push_back(topology::find_link(topology, "leaf0", spine)->link);
  }
  FlowRun run(topology, workload, {.paths = 32});
  finish(run);
  EXPECT_EQ(run.ended(), 16u);
  EXPECT_EQ(run.network().fates()[Fate::kLinkDown], 0u) << "no switch chose it";
}

// Messages that the accepting side posts at once must not overtake its handshake reply, which the
// peer needs first: their retransmission would take 100 ms.
TEST(FlowRunTest, AReceivePostedOnAcceptIsGrantedAtOnce) {
  const uint64_t seeds = kSanitized ? 4 : 20;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    FlowRun run(fabric(), permutation(seed), {.seed = seed, .paths = 64});
    finish(run);
    for (size_t i = 0; i < 16; ++i) ASSERT_LE(took(run, i), 4 * kAlone) << seed;
  }
}

TEST(FlowRunTest, ObservationDoesNotChangeTheHistory) {
  FlowRun alone(fabric(), permutation(), {});
  finish(alone);
  std::vector<events::MemorySink> sinks(16, events::MemorySink(16'384));
  FlowRunOptions options;
  options.sink_of = [&sinks](uint32_t host) { return &sinks[host]; };
  {
    FlowRun run(fabric(), permutation(), options);
    finish(run);
    EXPECT_EQ(run.network().trace_hash(), alone.network().trace_hash());
  }
  for (const events::MemorySink& sink : sinks) {
    EXPECT_EQ(sink.all<events::EndpointOpened>().size(), 1u);
    EXPECT_EQ(sink.all<events::NicOpened>().size(), 1u);
    ASSERT_EQ(sink.all<events::MessageCompleted>().size(), 2u) << "one sent, one received";
    EXPECT_EQ(sink.all<events::MessageCompleted>()[0].bytes, 2'000'000u);
    uint64_t payload = 0;
    for (const events::WireBin& bin : sink.all<events::WireBin>()) payload += bin.payload_bytes;
    EXPECT_GE(payload, 2'000'000u);
  }
}

TEST(FlowRunTest, AdvanceStopsAtItsTime) {
  FlowRun run(fabric(), permutation(), {});
  finish(run, micros(100));
  EXPECT_EQ(run.now(), micros(100));
  EXPECT_EQ(run.ended(), 0u);
  finish(run);
  EXPECT_EQ(run.ended(), 16u);
}

}  // namespace
}  // namespace heddle::simulator
