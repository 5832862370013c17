// DCQCN and PFC against published behavior: the fluid model's queues, shares of an incast, a flow
// that joins, the parking lot and the victim of DCQCN's testbed, and deadlocks. `bench/run sim
// --peer published` prints the same figures, and more, beside the published ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "simulator/flow_run.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

using topology::Topology;
using topology::Workload;

// DCQCN: Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015: hosts of
// 40 Gb/s, packets of 1 KB, RED of its testbed.
constexpr topology::LinkShape kLink{.rate = gigabits_per_s(40),
                                    .ecn_threshold = {5'000},
                                    .mtu_bytes = 1'500,
                                    .ecn_ramp_per_million = 10'000,
                                    .ecn_ramp = {195'000}};
constexpr uint32_t kPayload = 1'024;
constexpr uint32_t kWireBytes = kPayload + 16 + kWireOverheadBytes;
constexpr uint64_t kEndless = 10'000'000'000;

RoceOptions options(bool dcqcn = true) {
  RoceOptions options;
  options.mtu_bytes = kPayload;
  options.dcqcn = dcqcn;
  return options;
}

void advance_to(FlowRun& run, Nanos until) {
  while (run.advance(until, 100'000)) {
  }
}

// Payload that each connection has sent, in the order of their senders.
std::vector<double> sent_until(FlowRun& run, Nanos until) {
  advance_to(run, until);
  std::vector<double> sent;
  for (const PathShares& each : run.path_shares()) {
    sent.push_back(static_cast<double>(each.payload_bytes[0]));
  }
  return sent;
}

// In Gb/s with headers, between two times.
std::vector<double> rates(FlowRun& run, Nanos from, Nanos until) {
  std::vector<double> found = sent_until(run, from);
  const std::vector<double> after = sent_until(run, until);
  for (size_t i = 0; i < found.size(); ++i) {
    found[i] = (after[i] - found[i]) * 8 * kWireBytes / kPayload /
               static_cast<double>((until - from).count);
  }
  return found;
}

// --- one bottleneck ---

Topology star(uint32_t senders) {
  Topology topology = topology::leaf_spine(
      {.leaves = 1, .spines = 1, .hosts_per_leaf = senders + 1, .host_link = kLink});
  for (topology::Switch& each : topology.switches) {
    each.shape = {.buffer = mebibytes(8 * (senders + 1)), .lossless = true};
  }
  return topology;
}

Workload incast(uint32_t senders) {
  Workload workload;
  for (uint32_t i = 0; i < senders; ++i) {
    workload.flows.push_back({.id = i + 1, .from = i, .to = senders, .bytes = {kEndless}});
  }
  return workload;
}

// The queue in bytes at which the fluid model (section 5.1, equations 5 to 9) rests with `senders`
// equal flows: where the drift of the target rate is zero, that of the rate being zero.
double fixed_point_bytes(uint32_t senders) {
  const double packets = 40e3 / 8 / kWireBytes / senders;  // of a flow, a microsecond
  const double counter = 10e6 / kWireBytes;
  const double timer = 55 * packets;
  const auto drift = [&](double mark) {
    const double cut = 1 - std::pow(1 - mark, 50 * packets);
    const double alpha = 1 - std::pow(1 - mark, 55 * packets);
    const double by_bytes = packets * mark / (std::pow(1 - mark, -counter) - 1);
    const double by_timer = packets * mark / (std::pow(1 - mark, -timer) - 1);
    const double apart = packets * alpha * cut / 50 / (by_bytes + by_timer);
    const double rise =
        std::pow(1 - mark, 5 * counter) * by_bytes + std::pow(1 - mark, 5 * timer) * by_timer;
    return 40.0 / 8 / kWireBytes * rise - apart * cut / 50;
  };
  double least = 1e-8;
  double most = 0.05;
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(least * most);
    (drift(middle) > 0 ? least : most) = middle;
  }
  return 5e3 + least / 0.01 * 195e3;
}

TEST(RocePublishedTest, TheQueueOfABottleneckIsThatOfTheFluidModel) {
  for (const uint32_t senders : {2u, 4u, 8u}) {
    FlowRun run(star(senders), incast(senders), {.roce = options()});
    const LinkId bottleneck = 2 * senders + 1;
    advance_to(run, millis(50));
    double sum = 0;
    int samples = 0;
    for (Nanos now = millis(50); now < millis(150); now += micros(20)) {
      advance_to(run, now);
      sum += static_cast<double>(run.network().queued_bytes(bottleneck));
      ++samples;
    }
    const double theory = fixed_point_bytes(senders);
    EXPECT_NEAR(sum / samples / theory, 1, 0.35) << senders << " to 1, " << theory << " bytes";
  }
}

// With more than 13 flows the model's marking exceeds RED's 1%, so that there is no point of rest
// on the ramp: the queue swings across K_max, and some of the link is lost.
TEST(RocePublishedTest, AnIncastFillsTheLinkInFairShares) {
  for (const uint32_t senders : {2u, 8u, 20u}) {
    FlowRun run(star(senders), incast(senders), {.roce = options()});
    double sum = 0;
    double squares = 0;
    for (const double rate : rates(run, millis(50), millis(100))) {
      sum += rate;
      squares += rate * rate;
    }
    EXPECT_GT(sum, senders > 13 ? 37 : 39) << senders << " to 1";
    EXPECT_GT(sum * sum / (senders * squares), 0.97) << senders << " to 1: Jain's index";
  }
}

// The flow that has the link and one that joins it have equal shares after 100 ms. Additive
// increase is what makes them equal (section 5.2): without it the second one does not get its
// share.
TEST(RocePublishedTest, AFlowThatJoinsGetsItsShareByAdditiveIncrease) {
  Workload workload = incast(2);
  workload.flows[1].start = millis(50);
  std::vector<double> apart;
  for (const uint32_t additive_part : {1'000u, 1'000'000u}) {
    RoceOptions roce = options();
    roce.congestion.additive_part = additive_part;
    FlowRun run(star(2), workload, {.roce = roce});
    double sum = 0;
    for (int64_t at = 150; at < 250; at += 5) {
      const std::vector<double> found = rates(run, millis(at), millis(at + 5));
      sum += std::abs(found[0] - found[1]) / 20;
    }
    apart.push_back(sum);
  }
  EXPECT_LT(apart[0], 4) << "Gb/s between the flows, of 5 ms each";
  EXPECT_GT(apart[1], 3 * apart[0]);
}

// --- the testbed of DCQCN's paper (figure 2) ---

// Five hosts at each of the leaves T1 to T4 (switches 0 to 3); L1 and L2 above T1 and T2, L3 and L4
// above T3 and T4, two spines above all of them.
Topology testbed(uint64_t hash_seed) {
  Topology topology;
  const auto cable = [&topology](topology::Node a, uint32_t to) {
    topology.links.push_back({.a = a,
                              .b = {topology::NodeKind::kSwitch, to},
                              .shape = kLink,
                              .forward = {},
                              .backward = {}});
  };
  for (uint32_t i = 0; i < 20; ++i) {
    topology.hosts.push_back({"h" + std::to_string(i)});
    topology.nics.push_back({i});
    cable({topology::NodeKind::kNic, i}, i / 5);
  }
  for (uint32_t i = 0; i < 10; ++i) {
    topology.switches.push_back({.name = "s" + std::to_string(i),
                                 .hash_seed = 100 * hash_seed + i,
                                 .shape = {.buffer = {12'000'000}, .lossless = true}});
  }
  for (uint32_t leaf = 0; leaf < 4; ++leaf) {
    for (const uint32_t above : {4u, 5u}) {
      cable({topology::NodeKind::kSwitch, leaf}, above + leaf / 2 * 2);
    }
  }
  for (uint32_t above = 4; above < 8; ++above) {
    for (const uint32_t spine : {8u, 9u}) cable({topology::NodeKind::kSwitch, above}, spine);
  }
  return topology;
}

constexpr uint32_t kReceiver = 15;  // at T4

// Rates of flows between pairs of hosts, in the order of their senders, for each of some seeds.
std::vector<std::vector<double>> testbed_rates(
    const std::vector<std::pair<uint32_t, uint32_t>>& pairs, bool dcqcn) {
  Workload workload;
  for (const auto& [from, to] : pairs) {
    workload.flows.push_back(
        {.id = workload.flows.size() + 1, .from = from, .to = to, .bytes = {kEndless}});
  }
  std::vector<std::vector<double>> found;
  for (uint64_t seed = 1; seed <= 7; ++seed) {
    FlowRun run(testbed(seed), workload, {.roce = options(dcqcn)});
    found.push_back(rates(run, millis(10), millis(30)));
    EXPECT_EQ(run.network().fates()[Fate::kQueueFull], 0u);
  }
  return found;
}

// Section 2.2, figure 3: H1 to H3 of other leaves and H4 of the receiver's. T4 pauses its ports
// evenly, so that the flow that has a port to itself gets more; up to 20 Gb/s if all others share
// one. Figure 8: with DCQCN all four get equal shares.
TEST(RocePublishedTest, PfcFavorsTheNearSenderAndDcqcnDoesNot) {
  const std::vector<std::pair<uint32_t, uint32_t>> pairs = {
      {0, kReceiver}, {5, kReceiver}, {10, kReceiver}, {16, kReceiver}};
  double near_most = 0;
  double near_least = 40;
  double far_most = 0;
  for (const std::vector<double>& each : testbed_rates(pairs, false)) {
    near_most = std::max(near_most, each[3]);
    near_least = std::min(near_least, each[3]);
    far_most = std::max(far_most, *std::max_element(each.begin(), each.begin() + 3));
  }
  EXPECT_NEAR(near_most, 20, 1.5);
  EXPECT_GT(near_least, 0.97 * far_most);
  for (const std::vector<double>& each : testbed_rates(pairs, true)) {
    const auto [least, most] = std::minmax_element(each.begin(), each.end());
    EXPECT_GT(*least, 0.6 * *most);
  }
}

// Section 2.2, figure 4: T1's hosts send to the receiver, one of them to T2 instead. That victim
// gets 10 Gb/s (20 would be fair), and 4.5 Gb/s when two hosts of T3, whose flows share no link
// with the victim's, send to the receiver as well. Figure 9: with DCQCN those two do not matter.
TEST(RocePublishedTest, PfcHurtsAVictimFurtherWithEachSenderAndDcqcnDoesNot) {
  for (const bool dcqcn : {false, true}) {
    std::vector<double> medians;
    for (const uint32_t others : {0u, 2u}) {
      std::vector<std::pair<uint32_t, uint32_t>> pairs;
      for (uint32_t i = 0; i < 4; ++i) pairs.emplace_back(i, kReceiver);
      pairs.emplace_back(4, 5);
      for (uint32_t i = 0; i < others; ++i) pairs.emplace_back(10 + i, kReceiver);
      std::vector<double> victim;
      for (const std::vector<double>& each : testbed_rates(pairs, dcqcn)) victim.push_back(each[4]);
      std::sort(victim.begin(), victim.end());
      medians.push_back(victim[victim.size() / 2]);
    }
    if (dcqcn) {
      EXPECT_NEAR(medians[1] / medians[0], 1, 0.1);
      EXPECT_GT(medians[0], 14);
    } else {
      EXPECT_NEAR(medians[0], 10, 3);
      EXPECT_NEAR(medians[1], 4.5, 2);
    }
  }
}

// --- deadlocks (Hu et al., Deadlocks in Datacenter Networks, HotNets 2016) ---

// Five switches in a ring, two hosts at each.
Topology ring() {
  constexpr uint32_t kSwitches = 5;
  Topology topology;
  for (uint32_t i = 0; i < 2 * kSwitches; ++i) {
    topology.hosts.push_back({"h" + std::to_string(i)});
    topology.nics.push_back({i});
    topology.links.push_back({.a = {topology::NodeKind::kNic, i},
                              .b = {topology::NodeKind::kSwitch, i / 2},
                              .shape = kLink,
                              .forward = {},
                              .backward = {}});
  }
  for (uint32_t i = 0; i < kSwitches; ++i) {
    topology.switches.push_back({.name = "s" + std::to_string(i),
                                 .hash_seed = i,
                                 .shape = {.buffer = {400'000}, .lossless = true}});
    topology.links.push_back({.a = {topology::NodeKind::kSwitch, i},
                              .b = {topology::NodeKind::kSwitch, (i + 1) % kSwitches},
                              .shape = kLink,
                              .forward = {},
                              .backward = {}});
  }
  return topology;
}

// Every host sends to the one that is two switches further on: in a ring each switch then waits for
// the next one, in a circle. Routes that go up and then down have no such circle.
TEST(RocePublishedTest, PausesDeadlockARingAndNoLeafSpineFabric) {
  Workload workload;
  for (uint32_t i = 0; i < 10; ++i) {
    workload.flows.push_back({.id = i + 1, .from = i, .to = (i + 4) % 10, .bytes = {4'000'000}});
  }
  FlowRun circle(ring(), workload, {.roce = options(false)});
  advance_to(circle, seconds(1));
  for (const FlowOutcome& outcome : circle.outcomes()) EXPECT_EQ(outcome.received, Nanos::never());
  Topology tree = topology::leaf_spine(
      {.leaves = 5, .spines = 1, .hosts_per_leaf = 2, .host_link = kLink, .spine_link = kLink});
  for (topology::Switch& each : tree.switches) {
    each.shape = {.buffer = {600'000}, .lossless = true};
  }
  FlowRun up_down(tree, workload, {.roce = options(false)});
  advance_to(up_down, seconds(1));
  EXPECT_EQ(up_down.ended(), 10u);
  for (const FlowOutcome& outcome : up_down.outcomes()) EXPECT_FALSE(outcome.failed);
  EXPECT_EQ(up_down.network().fates()[Fate::kQueueFull], 0u);
  EXPECT_EQ(up_down.totals().segments_retransmitted, 0u);
}

}  // namespace
}  // namespace heddle::simulator
