// Flows over RoCE NICs: go-back-N, DCQCN and PFC against closed forms and published behavior.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/flow_run.h"
#include "topology/generators.h"
#include "topology/workload_patterns.h"

namespace heddle::simulator {
namespace {

using topology::Topology;
using topology::Workload;

constexpr Bytes kilobytes(uint64_t n) { return {1'000 * n}; }

constexpr topology::LinkShape kLink{.rate = gigabits_per_s(100), .mtu_bytes = 4'154};
// A full packet: payload 4,096, headers 16, IP, UDP and Ethernet 66 bytes.
constexpr uint32_t kWireBytes = 4'096 + 16 + kWireOverheadBytes;

std::vector<uint32_t> hosts(uint32_t count) {
  std::vector<uint32_t> all(count);
  for (uint32_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

Topology fabric(const topology::LinkShape& link = kLink) {
  return topology::leaf_spine(
      {.leaves = 4, .spines = 4, .hosts_per_leaf = 4, .host_link = link, .spine_link = link});
}

// `senders` hosts and a receiver, the last host, at one switch.
Topology star(uint32_t senders, const topology::LinkShape& link) {
  Topology topology = topology::leaf_spine(
      {.leaves = 1, .spines = 1, .hosts_per_leaf = senders + 1, .host_link = link});
  return topology;
}

Workload incast(uint32_t senders, uint64_t bytes) {
  Workload workload;
  for (uint32_t i = 0; i < senders; ++i) {
    workload.flows.push_back({.id = i + 1, .from = i, .to = senders, .bytes = {bytes}});
  }
  return workload;
}

Topology lossless(Topology topology, Bytes buffer = mebibytes(4), Bytes xoff = {}) {
  for (topology::Switch& each : topology.switches) {
    each.shape = {.buffer = buffer, .lossless = true, .xoff = xoff};
  }
  return topology;
}

// RED as in DCQCN's testbed, for the rate of these links.
topology::LinkShape marking(topology::LinkShape link) {
  link.ecn_threshold = {12'500};
  link.ecn_ramp = {487'500};
  link.ecn_ramp_per_million = 10'000;
  return link;
}

void finish(FlowRun& run, Nanos until = seconds(10)) {
  while (run.advance(until, 100'000)) {
  }
}

Nanos last_end(const FlowRun& run) {
  Nanos last;
  for (const FlowOutcome& outcome : run.outcomes()) last = std::max(last, outcome.received);
  return last;
}

uint64_t queue_drops(const FlowRun& run) { return run.network().fates()[Fate::kQueueFull]; }

// --- go-back-N ---

TEST(RoceTest, ASingleFlowTakesTheTimeOfItsLinks) {
  const Workload workload{.flows = {{.id = 1, .from = 0, .to = 15, .bytes = {4'096'000}}}};
  FlowRun run(fabric(), workload, {.roce = RoceOptions{}});
  finish(run);
  EXPECT_EQ(run.ended(), 1u);
  EXPECT_EQ(run.wrong(), 0u);
  const Nanos alone = 1'000 * transmit_time({kWireBytes}, kLink.rate);
  EXPECT_GE(last_end(run), alone + micros(4));
  EXPECT_LE(last_end(run), alone + micros(4) + 4 * transmit_time({kWireBytes}, kLink.rate));
  EXPECT_EQ(run.totals().segments_sent, 1'000u);
  EXPECT_EQ(run.totals().segment_bytes, 4'096u);
}

TEST(RoceTest, APermutationArrivesAndEqualSeedsGiveEqualHistories) {
  Workload workload;
  Random random(1);
  add_permutation(workload, hosts(16), {.bytes = {2'000'000}}, random);
  std::vector<uint64_t> histories;
  for (int i = 0; i < 2; ++i) {
    FlowRun run(fabric(marking(kLink)), workload, {.seed = 7, .roce = RoceOptions{}});
    finish(run);
    EXPECT_EQ(run.ended(), 16u);
    EXPECT_EQ(run.wrong(), 0u);
    EXPECT_EQ(run.network().packets_alive(), 0u);
    histories.push_back(run.network().trace_hash());
  }
  EXPECT_EQ(histories[0], histories[1]);
}

TEST(RoceTest, TheLargestRdmaMtuThatTheFabricPassesIsUsed) {
  EXPECT_EQ(rdma_mtu(4'096, 4'154), 4'096u);
  EXPECT_EQ(rdma_mtu(1'024, 4'154), 1'024u);
  EXPECT_EQ(rdma_mtu(4'096, 4'139), 2'048u);
  EXPECT_EQ(rdma_mtu(4'096, 1'500), 1'024u);
  EXPECT_EQ(rdma_mtu(4'096, 576), 512u);
}

// Each loss costs the packets sent between the lost one and the arrival of its NAK, W, in which
// another loss costs nothing more. If the first packet after the NAK is lost as well, nothing but
// the timeout helps, T packets. Goodput is 1 / (1 + p (W + p T)) of the lossless one.
TEST(RoceTest, GoodputUnderLossIsThatOfGoBackN) {
  for (const uint32_t loss_per_million : {100u, 1'000u, 10'000u}) {
    Topology topology = topology::parallel_paths(1, kLink, kLink);
    topology.links[2].forward.loss_per_million = loss_per_million;
    const uint64_t packets = 200'000;
    const Workload workload{.flows = {{.id = 1, .from = 0, .to = 1, .bytes = {packets * 4'096}}}};
    FlowRun run(topology, workload, {.seed = 3, .roce = RoceOptions{}});
    finish(run);
    ASSERT_EQ(run.ended(), 1u);
    EXPECT_EQ(run.wrong(), 0u);
    const double packet_ns = static_cast<double>(transmit_time({kWireBytes}, kLink.rate).count);
    // Three hops of 1 us and store and forward there, and back; the gap shows with the next packet.
    const double round_trip_ns = 6'000 + 3 * packet_ns + 3 * 7;
    const double window = round_trip_ns / packet_ns + 1;
    const double timeout = static_cast<double>(RoceOptions{}.ack_timeout.count) / packet_ns;
    const double p = loss_per_million / 1e6;
    const double expected = packets * packet_ns * (1 + p * (window + p * timeout));
    const auto took = static_cast<double>(last_end(run).count);
    EXPECT_NEAR(took / expected, 1, 0.12) << loss_per_million << " per million";
    EXPECT_GT(run.roce_counters().naks, 0u);
    const double collapsed = packets * packet_ns / took;
    if (loss_per_million == 10'000) {
      EXPECT_LT(collapsed, 0.6) << "1% of loss costs far more than 1%";
    }
  }
}

TEST(RoceTest, AQueuePairFailsAfterItsRetries) {
  Topology topology = topology::parallel_paths(1, kLink, kLink);
  topology.changes = {{.at = micros(50), .link = 2, .kind = topology::LinkChangeKind::kDown}};
  const Workload workload{
      .flows = {{.id = 1, .from = 0, .to = 1, .bytes = {4'096'000}},
                {.id = 2, .from = 0, .to = 1, .bytes = {4'096}, .start = seconds(1)}}};
  FlowRun run(topology, workload, {.roce = RoceOptions{}});
  finish(run);
  EXPECT_TRUE(run.over());
  EXPECT_TRUE(run.outcomes()[0].failed);
  EXPECT_EQ(run.outcomes()[0].error, ErrorCode::kTimeout);
  EXPECT_TRUE(run.outcomes()[1].failed) << "a failed queue pair sends no more";
  EXPECT_EQ(run.roce_counters().timeouts, 8u) << "the retries, and the last timeout";
  EXPECT_EQ(run.roce_counters().queue_pairs_failed, 1u);
}

// --- DCQCN ---

// The experiment of DCQCN's paper: flows of its 40 Gb/s hosts through one bottleneck, with the
// marking of its testbed, converge to fair shares of a link in full use.
TEST(RoceTest, DcqcnSharesABottleneckFairly) {
  topology::LinkShape link = kLink;
  link.rate = gigabits_per_s(40);
  link.ecn_threshold = kilobytes(5);
  link.ecn_ramp = kilobytes(195);
  link.ecn_ramp_per_million = 10'000;
  for (const uint32_t senders : {2u, 4u, 8u}) {
    FlowRun run(lossless(star(senders, link), mebibytes(8 * senders)),
                incast(senders, 1'000'000'000), {.roce = RoceOptions{}});
    const auto sent_until = [&run](Nanos until) {
      while (run.advance(until, 100'000)) {
      }
      std::vector<double> sent;
      for (const PathShares& each : run.path_shares()) {
        sent.push_back(static_cast<double>(each.payload_bytes[0]));
      }
      return sent;
    };
    const std::vector<double> before = sent_until(millis(50));
    const std::vector<double> after = sent_until(millis(150));
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      const double share = after[i] - before[i];
      sum += share;
      squares += share * share;
    }
    const double possible =
        static_cast<double>(bytes_within(millis(100), link.rate).count) * 4'096 / kWireBytes;
    EXPECT_GE(sum * sum / (senders * squares), 0.98) << "Jain's index";
    EXPECT_GE(sum / possible, 0.95);
  }
}

// After the first round trips at line rate, two flows keep the queue between K_min and K_max.
TEST(RoceTest, DcqcnKeepsTheQueueBetweenItsMarkingLimits) {
  FlowRun run(lossless(star(2, marking(kLink)), mebibytes(16)), incast(2, 400'000'000),
              {.roce = RoceOptions{}});
  const LinkId bottleneck = 2 * 2 + 1;
  while (run.now() < millis(20)) run.advance(run.now() + micros(10), 100'000);
  run.network().take_queue_peak(bottleneck);
  uint64_t empty = 0;
  uint64_t samples = 0;
  uint64_t sum = 0;
  while (run.now() < millis(50)) {
    run.advance(run.now() + micros(10), 100'000);
    const uint64_t queued = run.network().queued_bytes(bottleneck);
    ++samples;
    sum += queued;
    if (queued == 0) ++empty;
  }
  EXPECT_LE(run.network().take_queue_peak(bottleneck), 500'000u) << "K_max";
  EXPECT_GE(sum / samples, 12'500u) << "K_min";
  EXPECT_LT(empty * 20, samples) << "the link stays busy";
}

TEST(RoceTest, WithoutCongestionControlQueuePairsShareByArbitration) {
  RoceOptions none;
  none.dcqcn = false;
  const Workload workload{.flows = {{.id = 1, .from = 0, .to = 4, .bytes = {4'096'000}},
                                    {.id = 2, .from = 0, .to = 8, .bytes = {4'096'000}}}};
  FlowRun run(lossless(fabric(marking(kLink))), workload, {.roce = none});
  finish(run);
  EXPECT_EQ(run.ended(), 2u);
  EXPECT_EQ(run.roce_counters().cnps, 0u);
  const Nanos alone = 2'000 * transmit_time({kWireBytes}, kLink.rate);
  for (const FlowOutcome& outcome : run.outcomes()) {
    EXPECT_GE(outcome.received, alone);
    EXPECT_LE(outcome.received, alone + micros(10));
  }
}

// --- PFC ---

// Without DCQCN: senders of an incast are stopped, nothing is lost, and pauses reach the spines and
// through them a leaf whose host sends to another receiver: head-of-line blocking, the victim of
// DCQCN's paper (section 2.2). DCQCN leaves the victim alone.
TEST(RoceTest, PfcLosesNothingUnderIncastAndHurtsVictimsUnlessDcqcnHelps) {
  Workload workload;
  for (uint32_t i = 0; i < 11; ++i) {  // hosts 4 to 14 to host 0
    workload.flows.push_back({.id = i + 1, .from = 4 + i, .to = 0, .bytes = {40'960'000}});
  }
  workload.flows.push_back({.id = 12, .from = 15, .to = 1, .bytes = {40'960'000}});
  const Topology topology = lossless(fabric(marking(kLink)), mebibytes(8));
  const Nanos alone = 10'000 * transmit_time({kWireBytes}, kLink.rate);
  std::vector<Nanos> victims;
  std::vector<uint64_t> pauses;
  for (const bool dcqcn : {false, true}) {
    RoceOptions options;
    options.dcqcn = dcqcn;
    FlowRun run(topology, workload, {.roce = options});
    finish(run);
    ASSERT_EQ(run.ended(), 12u);
    EXPECT_EQ(queue_drops(run), 0u);
    EXPECT_EQ(run.totals().segments_retransmitted, 0u);
    victims.push_back(run.outcomes()[11].received);
    pauses.push_back(0);
    for (LinkId id = 0; id < 2 * topology.links.size(); ++id) {
      pauses.back() += run.network().counters(id).pauses;
    }
    EXPECT_LE(last_end(run), 11 * alone * 3 / 2);
  }
  EXPECT_GT(victims[0], 3 * alone) << "paused with the incast";
  EXPECT_GT(pauses[0], 20 * pauses[1]) << "DCQCN stops most of them";
  EXPECT_LT(victims[1], victims[0] * 9 / 10);
}

// Congestion spreads hop by hop against the flows: hosts that send to the incast fill the spines,
// and at last the NIC of a host that sends elsewhere is paused as often as theirs.
TEST(RoceTest, PausesSpreadToHostsOutsideOfTheIncast) {
  Workload workload;
  for (uint32_t i = 0; i < 11; ++i) {  // hosts 4 to 14 to host 0
    workload.flows.push_back({.id = i + 1, .from = 4 + i, .to = 0, .bytes = {20'480'000}});
  }
  workload.flows.push_back({.id = 12, .from = 15, .to = 1, .bytes = {20'480'000}});
  RoceOptions none;
  none.dcqcn = false;
  FlowRun run(lossless(fabric(), mebibytes(8)), workload, {.roce = none});
  finish(run);
  ASSERT_EQ(run.ended(), 12u);
  const auto pauses = [&run](LinkId link) { return run.network().counters(link).pauses; };
  // Links of hosts come first, then each leaf's to the spines; the even direction is upwards.
  uint64_t of_leaves = 0;
  for (LinkId link = 16; link < 32; ++link) of_leaves += pauses(2 * link);
  EXPECT_GT(of_leaves, 0u) << "spines pause leaves";
  EXPECT_GT(pauses(2 * 4), 10u) << "a sender of the incast";
  EXPECT_GT(pauses(2 * 15), 10u) << "the victim";
  for (uint32_t host = 0; host < 4; ++host) EXPECT_EQ(pauses(2 * host), 0u) << "it sends nothing";
}

TEST(RoceTest, WithoutPfcAnIncastLosesPacketsAndGoesBack) {
  topology::LinkShape link = marking(kLink);
  link.queue = kibibytes(100);
  FlowRun run(star(8, link), incast(8, 4'096'000), {.roce = RoceOptions{}});
  finish(run);
  EXPECT_EQ(run.ended(), 8u);
  EXPECT_EQ(run.wrong(), 0u);
  EXPECT_GT(queue_drops(run), 0u);
  EXPECT_GT(run.totals().segments_retransmitted, queue_drops(run)) << "more than was lost";
}

}  // namespace
}  // namespace heddle::simulator
