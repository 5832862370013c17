// Switches with shared buffers, and lossless ones: exact limits and times, and the effect of pauses
// on other flows.
#include "simulator/outlets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/flow_run.h"
#include "simulator/network.h"
#include "simulator/testing/raw_host.h"
#include "topology/generators.h"
#include "topology/workload_patterns.h"

namespace heddle::simulator {
namespace {

using topology::LinkShape;
using topology::SwitchShape;
using topology::Topology;
using transport::Ecn;

constexpr uint32_t kBytes = 1'434;                       // a datagram whose packet takes
constexpr uint32_t kWire = kBytes + kWireOverheadBytes;  // 1,500 bytes of wire, the most that fits

LinkShape link(uint64_t gigabits) {
  return {.rate = gigabits_per_s(gigabits), .delay = micros(1), .mtu_bytes = kWire - 38};
}

Topology with(Topology topology, const SwitchShape& shape) {
  for (topology::Switch& each : topology.switches) each.shape = shape;
  return topology;
}

// Hosts around one switch (and an unused spine).
Topology star(uint32_t hosts, const SwitchShape& shape) {
  return with(topology::leaf_spine({.leaves = 1,
                                    .spines = 1,
                                    .hosts_per_leaf = hosts,
                                    .host_link = link(10),
                                    .spine_link = link(10)}),
              shape);
}

// From the switch of a star to a host.
LinkId to_host(NicId host) { return 2 * host + 1; }

void send(RawHost& from, RawHost& to, uint32_t packets) {
  for (uint32_t i = 0; i < packets; ++i) ASSERT_TRUE(from.send(to, kBytes));
}

TEST(SwitchMemoryTest, AReserveIsAvailableWhateverOtherQueuesHold) {
  SwitchMemory memory({.buffer = {100}, .alpha = 8, .reserve = {10}}, 4);
  uint64_t greedy = 0;
  while (memory.takes(greedy, 1)) memory.take(greedy++, 1);
  EXPECT_EQ(greedy, 64u)
      << "its reserve, and 54 of the 60 that are nobody's: eight times the last 7 are 56";
  uint64_t modest = 0;
  while (modest < 10) {
    ASSERT_TRUE(memory.takes(modest, 1));
    memory.take(modest++, 1);
  }
  EXPECT_EQ(memory.used(), 74u);
  for (; greedy > 0; --greedy) memory.give_back(greedy, 1);
  EXPECT_EQ(memory.used(), 10u);
  EXPECT_EQ(memory.used_max(), 74u);
}

// Two hosts send to one: its queue grows by one packet per packet time, until it holds `alpha`
// times the free part of 20 packets.
TEST(OutletsTest, AQueueHoldsAlphaTimesTheFreeMemory) {
  struct {
    uint32_t alpha, divisor, packets;
  } const cases[] = {{1, 1, 10}, {1, 2, 7}, {8, 1, 18}};
  for (const auto& each : cases) {
    const SwitchShape shape{
        .buffer = {20 * kWire}, .alpha = each.alpha, .alpha_divisor = each.divisor};
    Network network(star(3, shape), {}, 1);
    RawHost to(network, 0);
    RawHost a(network, 1);
    RawHost b(network, 2);
    send(a, to, 60);
    send(b, to, 60);
    network.run_until(network.now() + millis(1));
    const LinkCounters counters = network.counters(to_host(0));
    EXPECT_EQ(counters.queued_bytes_max, each.packets * kWire) << each.alpha;
    EXPECT_EQ(network.buffer_used_max(0), each.packets * kWire);
    EXPECT_EQ(counters.queue_drops + to.arrivals.size(), 120u);
    EXPECT_EQ(counters.queue_drops, network.fates()[Fate::kQueueFull]);
    EXPECT_EQ(counters.packets, to.arrivals.size());
    EXPECT_EQ(counters.pauses, 0u);
    EXPECT_EQ(network.queued_bytes(to_host(0)), 0u);
    EXPECT_EQ(network.packets_alive(), 0u);
  }
}

TEST(OutletsTest, TwoQueuesLeaveRoomForEachOther) {
  Network network(star(6, {.buffer = {30 * kWire}}), {}, 1);
  std::vector<std::unique_ptr<RawHost>> hosts;
  for (NicId nic = 0; nic < 6; ++nic) hosts.push_back(std::make_unique<RawHost>(network, nic));
  for (const NicId from : {2u, 3u}) send(*hosts[from], *hosts[0], 60);
  for (const NicId from : {4u, 5u}) send(*hosts[from], *hosts[1], 60);
  network.run_until(network.now() + millis(1));
  for (const NicId to : {0u, 1u}) {
    EXPECT_NEAR(static_cast<double>(network.counters(to_host(to)).queued_bytes_max), 10 * kWire,
                kWire)
        << "a third each, and a third free; one alone would hold 15";
  }
}

TEST(OutletsTest, PacketsInSharedMemoryAreMarked) {
  Topology topology = star(3, {.buffer = {40 * kWire}});
  for (topology::Link& each : topology.links) each.shape.ecn_threshold = {4 * kWire};
  Network network(topology, {}, 1);
  RawHost to(network, 0);
  RawHost a(network, 1);
  RawHost b(network, 2);
  a.ecn_capable = b.ecn_capable = true;
  send(a, to, 5);
  send(b, to, 5);
  network.run_until(network.now() + millis(1));
  // Two arrive as one leaves: they find 0 1, 1 2, 2 3, 3 4 and 4 5 packets.
  EXPECT_EQ(network.counters(to_host(0)).marks, 1u);
  EXPECT_EQ(network.fates()[Fate::kMarked], 1u);
}

// Two hosts send 10 Gb/s (1,200 ns per packet) to one whose queue holds four packets, 1 us per hop.
TEST(OutletsTest, TrimmedHeadersOvertakeWaitingPackets) {
  Topology topology = star(3, {.trims = true});
  for (topology::Link& each : topology.links) each.shape.queue = {4 * kWire};
  Network network(topology, {}, 1);
  RawHost to(network, 0);
  RawHost a(network, 1);
  RawHost b(network, 2);
  a.ecn_capable = b.ecn_capable = true;
  const Nanos start = network.now();
  send(a, to, 10);
  send(b, to, 10);
  network.run_until(start + millis(1));
  const LinkCounters counters = network.counters(to_host(0));
  // Pairs arrive at 2,200 + 1,200 k ns, when one packet leaves: the queue grows by one each time.
  // The fourth pair makes it five, so its second packet is trimmed: 44 bytes and 66 of framing, 88
  // ns.
  EXPECT_EQ(counters.queued_bytes_max, 4 * kWire);
  EXPECT_EQ(counters.trims, network.fates()[Fate::kTrimmed]);
  EXPECT_EQ(counters.queue_drops, 0u);
  EXPECT_EQ(to.arrivals.size(), 20u) << "each came, whole or as a header";
  std::vector<Arrival> headers;
  for (const Arrival& each : to.arrivals) {
    if (each.bytes == kTrimmedBytes) headers.push_back(each);
  }
  EXPECT_EQ(headers.size(), counters.trims);
  ASSERT_GE(headers.size(), 6u);
  // It arrives at 5,800; the packet in transmission ends at 7,000.
  EXPECT_EQ(headers.front().at, start + nanos(7'000 + 88 + 1'000));
  EXPECT_EQ(to.arrivals[4].bytes, kTrimmedBytes) << "it overtook three";
  EXPECT_EQ(network.packets_alive(), 0u);
}

TEST(OutletsTest, PacketsNotSubjectToTrimmingJoinTheHeaderQueueWhole) {
  Topology topology = star(3, {.trims = true});
  for (topology::Link& each : topology.links) each.shape.queue = {4 * kWire};
  Network network(topology, {}, 1);
  RawHost to(network, 0);
  RawHost a(network, 1);
  RawHost b(network, 2);  // not ECN-capable, like acknowledgements
  a.ecn_capable = true;
  send(a, to, 10);
  send(b, to, 10);
  network.run_until(network.now() + millis(1));
  EXPECT_EQ(network.counters(to_host(0)).queue_drops, 0u);
  const auto whole = static_cast<uint64_t>(
      std::count_if(to.arrivals.begin(), to.arrivals.end(),
                    [](const Arrival& each) { return each.bytes == kBytes; }));
  EXPECT_EQ(whole + network.counters(to_host(0)).trims, 20u);
  EXPECT_GT(network.counters(to_host(0)).trims, 0u);
  EXPECT_GE(whole, 10u);
}

// Headers alone would fill the link: at most ten go between two packets.
TEST(OutletsTest, HeadersAlternateWithPacketsAndExcessHeadersAreDropped) {
  Topology topology = star(3, {.trims = true});
  topology.links[0].shape.rate = megabits_per_s(100);
  topology.links[0].shape.queue = {2 * kWire};
  Network network(topology, {.nic_queue = mebibytes(8)}, 1);
  RawHost to(network, 0);
  RawHost a(network, 1);
  a.ecn_capable = true;
  send(a, to, 1'000);
  network.run_until(network.now() + seconds(1));
  const LinkCounters counters = network.counters(to_host(0));
  EXPECT_GT(counters.queue_drops, 300u);
  EXPECT_EQ(to.arrivals.size() + counters.queue_drops, 1'000u);
  uint32_t in_a_row = 0;
  uint32_t most = 0;
  size_t last_packet = 0;
  for (size_t i = 0; i < to.arrivals.size(); ++i) {
    if (to.arrivals[i].bytes != kTrimmedBytes) last_packet = i;
  }
  for (size_t i = 0; i < last_packet; ++i) {
    in_a_row = to.arrivals[i].bytes == kTrimmedBytes ? in_a_row + 1 : 0;
    most = std::max(most, in_a_row);
  }
  EXPECT_EQ(most, Outlets::kHeadersInARow);
  EXPECT_EQ(network.packets_alive(), 0u);
}

// With shallow queues a permutation over many paths waited milliseconds for lost packets, because
// no later packet on their path revealed the loss.
TEST(OutletsTest, ExactlyTheTrimmedPacketsAreRetransmittedAtOnce) {
  Nanos trimmed_longest;
  for (const bool trims : {true, false}) {
    topology::LinkShape shape = link(100);
    shape.mtu_bytes = 4'154;
    shape.queue = kibibytes(40);
    const Topology fabric = with(topology::leaf_spine({.leaves = 4,
                                                       .spines = 4,
                                                       .hosts_per_leaf = 4,
                                                       .host_link = shape,
                                                       .spine_link = shape}),
                                 {.trims = trims});
    topology::Workload workload;
    std::vector<uint32_t> hosts;
    for (uint32_t i = 0; i < 16; ++i) hosts.push_back(i);
    Random random(3);
    topology::add_permutation(workload, hosts, {.bytes = {2'000'000}}, random);
    FlowRun run(fabric, workload, {.seed = 1, .paths = 64});
    while (run.advance(seconds(1), 100'000)) continue;
    ASSERT_EQ(run.ended(), 16u);
    EXPECT_EQ(run.wrong(), 0u);
    const transport::ConnectionStatistics totals = run.totals();
    Nanos longest;
    for (const FlowOutcome& outcome : run.outcomes()) {
      longest = std::max(longest, outcome.received - outcome.started);
    }
    const uint64_t trimmed = run.network().fates()[Fate::kTrimmed];
    if (trims) {
      EXPECT_GT(trimmed, 20u);
      EXPECT_EQ(totals.segments_retransmitted, trimmed);
      EXPECT_EQ(totals.segments_retransmitted_spuriously, 0u);
      EXPECT_LT(longest, micros(600));
      trimmed_longest = longest;
    } else {
      EXPECT_GT(run.network().fates()[Fate::kQueueFull], 20u);
      // One round trip more for detection, plus occasional host delays.
      EXPECT_GT(longest, trimmed_longest + micros(50));
      EXPECT_LT(longest, micros(600));
    }
  }
}

// From 10 Gb/s (1,200 ns per packet) to 1 Gb/s (12,000 ns), 1 us each, through two lossless
// switches.
TEST(OutletsTest, PausesHaveExactTimes) {
  const SwitchShape lossless{
      .buffer = {30'000}, .lossless = true, .xoff = {4 * kWire}, .xon = {2 * kWire}};
  Network network(with(topology::parallel_paths(1, link(10), link(1)), lossless), {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  const Nanos start = network.now();
  send(a, b, 12);
  // Packet k is at the switch after 1,200 k + 1,000 ns. The fifth exceeds the limit of four: the
  // frame leaves at 7,000 and takes 68 ns and 1 us, and the sender finishes its seventh packet, at
  // 8,400.
  const auto at = [&](int64_t ns) { network.run_until(start + nanos(ns)); };
  at(8'067);
  EXPECT_EQ(network.counters(0).pauses, 0u);
  at(8'068);
  EXPECT_EQ(network.counters(0).pauses, 1u);
  at(62'199);
  EXPECT_EQ(network.counters(0).packets, 7u);
  EXPECT_EQ(network.counters(0).paused_time, nanos(62'199 - 8'068));
  // The first leaves at 14,200 and one more every 12,000: two are left at 62,200. The frame arrives
  // at 63,268 and the eighth packet at 65,468. The tenth, at 67,868, triggers another pause, which
  // reaches the sender at 68,936 during its twelfth.
  at(63'267);
  EXPECT_EQ(network.counters(0).packets, 7u);
  at(63'268);
  EXPECT_EQ(network.counters(0).packets, 8u);
  EXPECT_EQ(network.counters(0).paused_time, nanos(55'200));
  at(68'936);
  EXPECT_EQ(network.counters(0).packets, 12u);
  EXPECT_EQ(network.counters(0).pauses, 2u);
  at(200'000);
  EXPECT_EQ(network.counters(0).paused_time, nanos(55'200 + 123'268 - 68'936));
  ASSERT_EQ(b.arrivals.size(), 12u);
  EXPECT_EQ(b.arrivals.back().at, start + nanos(2'200 + 12 * 12'000 + 1'000 + 2'200))
      << "the slow link never ran empty";
  EXPECT_EQ(network.counters(4).queued_bytes_max, 7u * kWire);
  EXPECT_EQ(network.counters(1).packets, 4u) << "frames";
  EXPECT_EQ(network.fates()[Fate::kQueueFull], 0u);
  EXPECT_EQ(network.packets_alive(), 0u);
}

TEST(OutletsTest, APausedNicReportsWhenItHasRoom) {
  const SwitchShape lossless{.buffer = {30'000}, .lossless = true, .xoff = {4 * kWire}};
  Network network(with(topology::parallel_paths(1, link(10), link(1)), lossless),
                  {.nic_queue = {2 * kWire}}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  uint32_t sent = 0;
  for (uint32_t turn = 0; sent < 50; ++turn) {
    ASSERT_LT(turn, 1'000u);
    while (sent < 50 && a.send(b, kBytes)) ++sent;
    const uint32_t rooms = a.rooms;
    while (sent < 50 && a.rooms == rooms) ASSERT_TRUE(network.step());
  }
  network.run_until(network.now() + millis(2));
  EXPECT_EQ(b.arrivals.size(), 50u);
  EXPECT_GT(network.counters(0).pauses, 2u);
  EXPECT_EQ(network.fates()[Fate::kQueueFull], 0u);
}

TEST(OutletsTest, ADisconnectedCableClearsPausesAndFreesTheMemory) {
  const SwitchShape lossless{.buffer = {30'000}, .lossless = true, .xoff = {4 * kWire}};
  Topology topology = with(topology::parallel_paths(1, link(10), link(1)), lossless);
  using topology::LinkChangeKind;
  topology.changes = {{.at = micros(20), .link = 2, .kind = LinkChangeKind::kDown},
                      {.at = micros(20), .link = 2, .kind = LinkChangeKind::kNotice},
                      {.at = micros(40), .link = 0, .kind = LinkChangeKind::kDown},
                      {.at = micros(60), .link = 0, .kind = LinkChangeKind::kUp},
                      {.at = micros(60), .link = 2, .kind = LinkChangeKind::kUp}};
  Network network(topology, {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  send(a, b, 100);
  network.run_until(network.now() + micros(60));
  EXPECT_GT(network.fates()[Fate::kCutOff], 0u);
  EXPECT_EQ(network.packets_alive(), 0u);
  const size_t before = b.arrivals.size();
  send(a, b, 30);
  network.run_until(network.now() + millis(2));
  EXPECT_EQ(b.arrivals.size(), before + 30);
  EXPECT_EQ(network.fates()[Fate::kQueueFull], 0u);
  EXPECT_EQ(network.packets_alive(), 0u);
}

// Only the direction that carries pauses breaks: the paused sender resumes.
TEST(OutletsTest, APauseEndsWithTheCableThatCarriedIt) {
  const SwitchShape lossless{.buffer = {30'000}, .lossless = true, .xoff = {4 * kWire}};
  Topology topology = with(topology::parallel_paths(1, link(10), link(1)), lossless);
  topology.changes = {{.at = micros(20),
                       .link = 0,
                       .direction = topology::LinkDirection::kBackward,
                       .kind = topology::LinkChangeKind::kDown}};
  Network network(topology, {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  send(a, b, 12);
  network.run_until(network.now() + millis(1));
  EXPECT_EQ(b.arrivals.size(), 12u);
  EXPECT_EQ(network.counters(0).pauses, 1u);
  EXPECT_EQ(network.counters(0).paused_time, micros(20) - nanos(8'068));
}

topology::LeafSpineShape two_leaves(uint32_t hosts_per_leaf) {
  const LinkShape shape{.rate = gigabits_per_s(100), .queue = kibibytes(128), .mtu_bytes = 4'154};
  return {.leaves = 2,
          .spines = 1,
          .hosts_per_leaf = hosts_per_leaf,
          .host_link = shape,
          .spine_link = shape};
}

constexpr SwitchShape kLossless{.buffer = mebibytes(2), .lossless = true};

struct Outcome {
  Nanos victim;
  uint64_t drops = 0;
  uint64_t pauses = 0;
};

// Hosts 9 to 16 send to host 0, and host 17 to host 1, all across one spine with capacity for both:
// 8 to 1, and one victim. Returns the victim's result.
Outcome incast_with_victim(const SwitchShape& shape, bool incast) {
  topology::Workload workload;
  if (incast) {
    for (uint32_t i = 0; i < 8; ++i) {
      workload.flows.push_back({.id = i, .from = 9 + i, .to = 0, .bytes = {1'000'000}});
    }
  }
  workload.flows.push_back({.id = 8, .from = 17, .to = 1, .bytes = {200'000}, .start = micros(50)});
  topology::LeafSpineShape fabric = two_leaves(9);
  fabric.spine_link.rate = gigabits_per_s(400);
  FlowRun run(with(topology::leaf_spine(fabric), shape), workload, {.paths = 4});
  while (run.advance(seconds(1), 100'000)) {
  }
  EXPECT_EQ(run.ended(), workload.flows.size());
  EXPECT_EQ(run.wrong(), 0u);
  Outcome outcome;
  outcome.victim = run.outcomes().back().received - run.outcomes().back().started;
  outcome.drops = run.network().fates()[Fate::kQueueFull];
  for (LinkId id = 0; id < 2 * run.network().topology().links.size(); ++id) {
    outcome.pauses += run.network().counters(id).pauses;
  }
  return outcome;
}

TEST(OutletsTest, ALosslessFabricDropsNothingUnderIncastAndItsVictimsWait) {
  const Outcome alone = incast_with_victim(kLossless, false);
  const Outcome lossy = incast_with_victim({}, true);
  const Outcome lossless = incast_with_victim(kLossless, true);
  EXPECT_EQ(alone.pauses, 0u);
  EXPECT_GT(lossy.drops, 0u);
  EXPECT_EQ(lossy.pauses, 0u);
  EXPECT_EQ(lossless.drops, 0u);
  EXPECT_GT(lossless.pauses, 10u);
  EXPECT_GT(lossless.victim, 3 * alone.victim) << "behind packets that may not go on";
  EXPECT_LT(lossy.victim, lossless.victim / 2);
}

// Routes go up and then down, so no cycle of links can wait for itself.
TEST(OutletsTest, APermutationOverALosslessFatTreeEnds) {
  const LinkShape shape{.rate = gigabits_per_s(100), .mtu_bytes = 4'154};
  const SwitchShape small{.buffer = kibibytes(512), .lossless = true};
  topology::Workload workload;
  std::vector<uint32_t> hosts(16);
  for (uint32_t i = 0; i < 16; ++i) hosts[i] = i;
  Random random(1);
  add_permutation(workload, hosts, {.bytes = {2'000'000}}, random);
  std::vector<uint64_t> histories;
  for (const uint64_t seed : {1u, 1u, 2u}) {
    FlowRun run(
        with(topology::fat_tree({.host_link = shape, .switch_link = shape, .core_link = shape}),
             small),
        workload, {.seed = seed, .paths = 1, .initial_window = mebibytes(4)});
    while (run.advance(seconds(1), 100'000)) {
    }
    EXPECT_EQ(run.ended(), 16u);
    EXPECT_EQ(run.totals().segments_retransmitted, 0u);
    EXPECT_EQ(run.network().fates()[Fate::kQueueFull], 0u);
    histories.push_back(run.network().trace_hash());
  }
  EXPECT_EQ(histories[0], histories[1]);
  EXPECT_NE(histories[0], histories[2]);
}

}  // namespace
}  // namespace heddle::simulator
