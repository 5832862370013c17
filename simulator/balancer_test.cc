// Switches that do more than hash: which links packets take.
#include "simulator/balancer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/flow_run.h"
#include "simulator/testing/raw_host.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

using topology::Balancing;
using topology::Topology;

constexpr uint32_t kPaths = 4;
constexpr uint32_t kBytes = 1'434;  // 1,500 of wire: 120 ns at 100 Gb/s
constexpr topology::LinkShape kLink{.rate = gigabits_per_s(100), .mtu_bytes = 4'154};

Topology paths(Balancing balancing, Nanos gap = micros(50)) {
  Topology topology = topology::parallel_paths(kPaths, kLink, kLink);
  for (topology::Switch& each : topology.switches) {
    each.shape.balancing = balancing;
    each.shape.flowlet_gap = gap;
  }
  return topology;
}

// Packets that each parallel path carried to host 1.
std::vector<uint64_t> carried(const Network& network) {
  std::vector<uint64_t> packets;
  for (uint32_t i = 0; i < kPaths; ++i) packets.push_back(network.counters(2 * (2 + i)).packets);
  return packets;
}

// Sends `count` packets with one hash, `apart` from each other.
std::vector<uint64_t> carried_of(const Topology& topology, uint32_t count, Nanos apart) {
  Network network(topology, {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  for (uint32_t i = 0; i < count; ++i) {
    EXPECT_TRUE(a.send(b, kBytes));
    network.run_until(network.now() + apart);
  }
  network.run_until(network.now() + millis(1));
  EXPECT_EQ(b.arrivals.size(), count);
  return carried(network);
}

size_t used(const std::vector<uint64_t>& packets) {
  return static_cast<size_t>(
      std::count_if(packets.begin(), packets.end(), [](uint64_t each) { return each > 0; }));
}

TEST(BalancerTest, EcmpSendsAFlowOverOneLink) {
  EXPECT_EQ(used(carried_of(paths(Balancing::kEcmp), 100, micros(60))), 1u);
}

TEST(BalancerTest, SprayingUsesAllLinksEvenly) {
  for (const uint64_t each : carried_of(paths(Balancing::kSpray), 4'000, nanos(120))) {
    EXPECT_NEAR(static_cast<double>(each), 1'000, 100);
  }
}

TEST(BalancerTest, AFlowletStaysOnItsLinkUntilAGap) {
  EXPECT_EQ(used(carried_of(paths(Balancing::kFlowlet), 1'000, micros(40))), 1u);
  EXPECT_EQ(used(carried_of(paths(Balancing::kFlowlet), 100, micros(60))), kPaths);
}

TEST(BalancerTest, AdaptiveRoutingAvoidsTheSlowLink) {
  Topology topology = paths(Balancing::kAdaptive);
  topology.links[2].shape.rate = gigabits_per_s(10);
  const std::vector<uint64_t> packets = carried_of(topology, 4'000, nanos(120));
  EXPECT_LT(packets[0], 4'000 / 10) << "a tenth of the rate: behind a queue most of the time";
  for (uint32_t i = 1; i < kPaths; ++i) EXPECT_GT(packets[i], 1'000u);
}

// Packets arrive at the rate of all paths together.
uint64_t widest_gap(Balancing balancing) {
  Topology topology = paths(balancing);
  for (uint32_t i = 0; i < kPaths; ++i) topology.links[2 + i].shape.rate = gigabits_per_s(25);
  Network network(topology, {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  uint64_t widest = 0;
  for (int sent = 0; sent < 2'000; ++sent) {
    a.send(b, kBytes);
    network.run_until(network.now() + nanos(120));
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (uint32_t i = 0; i < kPaths; ++i) {
      const uint64_t queued = network.queued_bytes(2 * (2 + i));
      least = std::min(least, queued);
      most = std::max(most, queued);
    }
    widest = std::max(widest, most - least);
  }
  return widest;
}

TEST(BalancerTest, AdaptiveRoutingKeepsQueuesEqualAndSprayingDoesNot) {
  EXPECT_LE(widest_gap(Balancing::kAdaptive), 2u * 1'500);
  EXPECT_GT(widest_gap(Balancing::kSpray), 8u * 1'500);
}

TEST(BalancerTest, LinksKnownToBeDownAreAvoided) {
  for (const Balancing balancing : {Balancing::kFlowlet, Balancing::kSpray, Balancing::kAdaptive}) {
    Topology topology = paths(balancing);
    topology.changes = {{.at = micros(1), .link = 2, .kind = topology::LinkChangeKind::kDown},
                        {.at = micros(1), .link = 2, .kind = topology::LinkChangeKind::kNotice}};
    Network network(topology, {}, 1);
    network.run_until(network.now() + micros(2));
    RawHost a(network, 0);
    RawHost b(network, 1);
    for (uint32_t i = 0; i < 100; ++i) {
      a.send(b, kBytes);
      network.run_until(network.now() + micros(60));
    }
    EXPECT_EQ(b.arrivals.size(), 100u) << name_of(balancing);
    EXPECT_EQ(carried(network)[0], 0u);
  }
}

// Spraying reorders, and go-back-N takes reordering for loss: goodput falls, although no packet is
// lost. Flowlets keep the order.
TEST(BalancerTest, GoBackNSuffersFromReorderingThatFlowletsAvoid) {
  struct Result {
    RoceCounters counters;
    uint64_t repeated = 0;
    Nanos last;
  };
  const auto flows = [](Balancing balancing) {
    Topology topology = topology::leaf_spine(
        {.leaves = 2, .spines = 4, .hosts_per_leaf = 4, .host_link = kLink, .spine_link = kLink});
    for (topology::Switch& each : topology.switches) {
      each.shape = {.buffer = mebibytes(8), .lossless = true, .balancing = balancing};
    }
    topology::Workload workload;
    for (uint32_t i = 0; i < 4; ++i) {
      workload.flows.push_back({.id = i + 1, .from = i, .to = 4 + i, .bytes = {2'000'000}});
    }
    FlowRun run(topology, workload, {.roce = RoceOptions{}});
    while (run.advance(seconds(1), 100'000)) {
    }
    EXPECT_EQ(run.ended(), 4u);
    EXPECT_EQ(run.wrong(), 0u);
    EXPECT_EQ(run.network().fates()[Fate::kQueueFull], 0u);
    Result result{run.roce_counters(), run.totals().segments_retransmitted, {}};
    for (const FlowOutcome& each : run.outcomes()) {
      result.last = std::max(result.last, each.received);
    }
    return result;
  };
  const Result flowlets = flows(Balancing::kFlowlet);
  EXPECT_EQ(flowlets.counters.naks, 0u);
  EXPECT_EQ(flowlets.counters.reordered, 0u);
  EXPECT_EQ(flowlets.repeated, 0u);
  const Result adaptive = flows(Balancing::kAdaptive);
  EXPECT_GT(adaptive.counters.reordered, 0u);
  EXPECT_GT(adaptive.repeated, adaptive.counters.naks);
  const Result sprayed = flows(Balancing::kSpray);
  EXPECT_GT(sprayed.counters.naks, 100u);
  EXPECT_GT(sprayed.counters.reordered, sprayed.counters.naks);
  EXPECT_GT(sprayed.last, 3 * flowlets.last);
}

}  // namespace
}  // namespace heddle::simulator
