// The network without faults: exact times, queues, marks, switches, back-pressure and determinism.
#include "simulator/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>
#include <set>

#include "simulator/sim_datapath.h"
#include "simulator/testing/raw_host.h"
#include "topology/generators.h"

namespace heddle::simulator {
namespace {

using testing::ElementsAre;
using topology::LinkShape;
using transport::Ecn;

constexpr uint32_t kBytes = 1'434;                       // payload of a datagram whose packet takes
constexpr uint32_t kWire = kBytes + kWireOverheadBytes;  // 1,500 bytes of wire

LinkShape shape(uint64_t gigabits, int64_t delay_us) {
  LinkShape made;
  made.rate = gigabits_per_s(gigabits);
  made.delay = micros(delay_us);
  return made;
}

std::vector<uint32_t> first_numbers(uint32_t count) {
  std::vector<uint32_t> out(count);
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

TEST(Network, OneLinkTakesSerializationAndPropagationTime) {
  Network network(topology::point_to_point(shape(10, 5)), {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  const Nanos start = network.now();
  EXPECT_EQ(start, seconds(1));
  ASSERT_TRUE(a.send(b, kBytes));
  ASSERT_TRUE(a.send(b, kBytes));
  ASSERT_TRUE(a.send(b, 44));
  network.run_until(start + millis(1));
  ASSERT_EQ(b.arrivals.size(), 3u);
  // 1,500 bytes at 10 Gb/s: 1,200 ns. 110 bytes: 88 ns.
  EXPECT_EQ(b.arrivals[0].at, start + micros(5) + nanos(1'200));
  EXPECT_EQ(b.arrivals[1].at, start + micros(5) + nanos(2'400));
  EXPECT_EQ(b.arrivals[2].at, start + micros(5) + nanos(2'488));
  EXPECT_EQ(network.now(), start + millis(1));
  EXPECT_EQ(network.counters(0).packets, 3u);
  EXPECT_EQ(network.counters(0).bytes, 2u * kWire + 110);
  EXPECT_EQ(network.counters(1).packets, 0u);
}

TEST(Network, SerializationTimeIsRoundedUpToANanosecond) {
  Network network(topology::point_to_point(shape(100, 0)), {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  const Nanos start = network.now();
  a.send(b, 45);  // 111 bytes: 8.88 ns
  a.send(b, 45);
  network.run_until(start + millis(1));
  ASSERT_EQ(b.arrivals.size(), 2u);
  EXPECT_EQ(b.arrivals[0].at, start + nanos(9));
  EXPECT_EQ(b.arrivals[1].at, start + nanos(18));
}

TEST(Network, SwitchesStoreAndForward) {
  Network network(topology::parallel_paths(1, shape(10, 1), shape(1, 100)), {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  const Nanos start = network.now();
  a.send(b, kBytes);
  a.send(b, kBytes);
  network.run_until(start + millis(1));
  ASSERT_EQ(b.arrivals.size(), 2u);
  const Nanos first =
      nanos(1'200) + micros(1) + nanos(12'000) + micros(100) + nanos(1'200) + micros(1);
  EXPECT_EQ(b.arrivals[0].at, start + first);
  EXPECT_EQ(b.arrivals[1].at, start + first + nanos(12'000)) << "the slow link sets the distance";
}

TEST(Network, AFullQueueDropsNewPackets) {
  LinkShape slow = shape(1, 1);
  slow.queue = {10 * kWire};
  slow.mtu_bytes = 1'500;
  Network network(topology::parallel_paths(1, shape(100, 1), slow), {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(a.send(b, kBytes));
  network.run_until(network.now() + millis(10));
  // 30 arrive at the switch within 3.6 us; none can leave before 12 us.
  EXPECT_EQ(b.numbers(), first_numbers(10));
  EXPECT_EQ(network.fates()[Fate::kQueueFull], 20u);
  EXPECT_EQ(network.counters(4).queue_drops, 20u);
  EXPECT_EQ(network.counters(4).queued_bytes_max, 10u * kWire);
  EXPECT_EQ(network.packets_alive(), 0u);
  // Room returns as packets leave.
  ASSERT_TRUE(a.send(b, kBytes));
  network.run_until(network.now() + millis(10));
  EXPECT_EQ(b.arrivals.size(), 11u);
}

TEST(Network, EcnCapablePacketsAreMarkedAboveTheThreshold) {
  LinkShape slow = shape(1, 1);
  slow.ecn_threshold = {4 * kWire};
  Network network(topology::parallel_paths(1, shape(100, 1), slow), {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  a.ecn_capable = true;
  for (int i = 0; i < 8; ++i) a.send(b, kBytes);
  a.ecn_capable = false;
  a.send(b, kBytes);
  network.run_until(network.now() + millis(10));
  ASSERT_EQ(b.arrivals.size(), 9u);
  // The k-th packet finds k packets ahead of it; it is marked if there are more than four.
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(b.arrivals[i].ecn, i > 4 ? Ecn::kCongestion : Ecn::kEct0) << i;
  }
  EXPECT_EQ(b.arrivals[8].ecn, Ecn::kNotCapable);
  EXPECT_EQ(network.fates()[Fate::kMarked], 3u);
  EXPECT_EQ(network.counters(4).marks, 3u);
}

// The k-th packet finds k packets ahead of it.
TEST(Network, MarkProbabilityRisesAlongARamp) {
  constexpr uint32_t kRounds = 2'000;
  LinkShape slow = shape(1, 1);
  slow.ecn_threshold = {2 * kWire};
  slow.ecn_ramp = {4 * kWire};
  slow.ecn_ramp_per_million = 200'000;
  Network network(topology::parallel_paths(1, shape(100, 1), slow), {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  a.ecn_capable = true;
  std::array<uint32_t, 8> marked{};
  for (uint32_t round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < marked.size(); ++i) ASSERT_TRUE(a.send(b, kBytes));
    network.run_until(network.now() + millis(1));
    for (size_t i = 0; i < marked.size(); ++i) marked[i] += b.arrivals[i].ecn == Ecn::kCongestion;
    b.arrivals.clear();
  }
  EXPECT_EQ(marked[0] + marked[1] + marked[2], 0u);
  // 5%, 10%, 15% of 2,000, plus or minus five standard deviations.
  EXPECT_NEAR(marked[3], 100, 49);
  EXPECT_NEAR(marked[4], 200, 67);
  EXPECT_NEAR(marked[5], 300, 80);
  EXPECT_EQ(marked[6], kRounds);
  EXPECT_EQ(marked[7], kRounds);
  EXPECT_EQ(network.counters(4).marks, std::accumulate(marked.begin(), marked.end(), 0u));
}

TEST(Network, OneEntropyKeepsOneRouteAndManySpread) {
  constexpr uint32_t kSpines = 4;
  const topology::LeafSpineShape fabric{.leaves = 2, .spines = kSpines, .hosts_per_leaf = 1};
  Network network(topology::leaf_spine(fabric), {}, 1);
  RawHost a(network, 0, {.max_paths = 256});
  RawHost b(network, 1);
  const auto packets_at = [&](uint32_t spine) {
    return network.counters(2 * topology::leaf_spine_link(fabric, 0, spine)).packets;
  };
  for (int i = 0; i < 50; ++i) a.send(b, 100, 17);
  network.run_until(network.now() + millis(1));
  std::vector<uint64_t> counts;
  for (uint32_t spine = 0; spine < kSpines; ++spine) counts.push_back(packets_at(spine));
  std::sort(counts.begin(), counts.end());
  EXPECT_THAT(counts, ElementsAre(0, 0, 0, 50));
  for (int i = 0; i < 40; ++i) {
    for (uint16_t path = 0; path < 256; ++path) ASSERT_TRUE(a.send(b, 100, path));
    network.run_until(network.now() + millis(1));
  }
  for (uint32_t spine = 0; spine < kSpines; ++spine) {
    // 64 of 256 entropies on average; six standard deviations of 6.9 either way.
    EXPECT_NEAR(static_cast<double>(packets_at(spine)), 40 * 64, 40 * 42 + 50);
    EXPECT_GT(packets_at(spine), 0u);
  }
  EXPECT_EQ(b.arrivals.size(), 50u + 40u * 256u);
}

// With equal seeds the second tier would use only half of its links.
TEST(Network, TwoTiersWithTheirOwnSeedsDoNotPolarize) {
  topology::Topology fabric;
  const LinkShape link = shape(100, 1);
  fabric.hosts = {{"a"}, {"b"}};
  fabric.nics = {{0}, {1}};
  fabric.switches = {{"left", 11}, {"up", 22}, {"down", 33}, {"right", 44}};
  const auto node = [](uint32_t index) {
    return topology::Node{topology::NodeKind::kSwitch, index};
  };
  fabric.links.push_back({{topology::NodeKind::kNic, 0}, node(0), link, {}, {}});
  fabric.links.push_back({{topology::NodeKind::kNic, 1}, node(3), link, {}, {}});
  fabric.links.push_back({node(0), node(1), link, {}, {}});
  fabric.links.push_back({node(0), node(2), link, {}, {}});
  for (int i = 0; i < 2; ++i) {
    fabric.links.push_back({node(1), node(3), link, {}, {}});
    fabric.links.push_back({node(2), node(3), link, {}, {}});
  }
  for (const bool polarised : {false, true}) {
    if (polarised) fabric.switches[1].hash_seed = fabric.switches[2].hash_seed = 11;
    Network network(fabric, {}, 1);
    RawHost a(network, 0, {.max_paths = 256});
    RawHost b(network, 1);
    for (uint16_t path = 0; path < 256; ++path) ASSERT_TRUE(a.send(b, 100, path));
    network.run_until(network.now() + millis(1));
    uint32_t used = 0;
    for (uint32_t link_index = 4; link_index < 8; ++link_index) {
      used += network.counters(2 * link_index).packets > 0;
    }
    EXPECT_EQ(used, polarised ? 2u : 4u);
    EXPECT_EQ(b.arrivals.size(), 256u);
  }
}

TEST(Network, AFullNicRefusesAndReportsWhenItHasRoom) {
  Network network(topology::point_to_point(shape(1, 1)), {.nic_queue = {10 * kWire}}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  uint32_t sent = 0;
  while (a.send(b, kBytes)) ++sent;
  EXPECT_EQ(sent, 11u) << "the one that finds exactly the limit is taken";
  EXPECT_FALSE(a.send(b, kBytes));
  EXPECT_EQ(a.datapath().statistics().transmit_refused, 2u);
  EXPECT_EQ(a.rooms, 0u);
  network.run_until(network.now() + nanos(5 * 12'000));
  EXPECT_EQ(a.rooms, 0u);
  network.run_until(network.now() + nanos(12'000));
  EXPECT_EQ(a.rooms, 1u) << "told once, when half has drained";
  ASSERT_TRUE(a.send(b, kBytes));
  network.run_until(network.now() + millis(1));
  EXPECT_EQ(b.numbers(), first_numbers(12));
  EXPECT_EQ(network.fates()[Fate::kQueueFull], 0u);
}

TEST(Network, AHostThatDoesNotReceiveDropsBeyondItsQueue) {
  Network network(topology::point_to_point(shape(10, 1)), {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1, {.receive_capacity = {10 * kBytes}});
  b.slow = true;
  for (int i = 0; i < 15; ++i) a.send(b, kBytes);
  network.run_until(network.now() + millis(1));
  EXPECT_EQ(network.fates()[Fate::kReceiveQueueFull], 5u);
  EXPECT_EQ(b.datapath().statistics().dropped_at_receive, 5u);
  b.receive();
  EXPECT_EQ(b.numbers(), first_numbers(10));
  b.slow = false;
  a.send(b, kBytes);
  network.run_until(network.now() + millis(1));
  EXPECT_EQ(b.arrivals.size(), 11u);
}

TEST(Network, AHostReachesItself) {
  Network network(topology::point_to_point(shape(10, 1)), {}, 1);
  RawHost a(network, 0);
  RawHost also_a(network, 0, {.port = 5'000});
  const Nanos start = network.now();
  a.send(also_a, 500);
  network.run_until(start + millis(1));
  ASSERT_EQ(also_a.arrivals.size(), 1u);
  EXPECT_EQ(also_a.arrivals[0].at, start + micros(2));
  EXPECT_EQ(network.counters(0).packets, 0u);
}

TEST(Network, PortsThatOnlySendDropReplies) {
  Network network(topology::point_to_point(shape(10, 1)), {}, 1);
  RawHost a(network, 0);
  RawHost b(network, 1);
  a.send(b, 100, 3);
  network.run_until(network.now() + millis(1));
  ASSERT_EQ(b.arrivals.size(), 1u);
  b.send_to(address_of(0, b.arrivals[0].from_port), 100);
  network.run_until(network.now() + millis(1));
  EXPECT_TRUE(a.arrivals.empty());
  EXPECT_EQ(network.fates()[Fate::kUnread], 1u);
}

// The history as a hash and a list of arrivals.
std::pair<uint64_t, std::vector<uint32_t>> history(uint64_t seed, uint32_t datagrams) {
  topology::LeafSpineShape fabric{.leaves = 2, .spines = 3, .hosts_per_leaf = 2};
  topology::Topology topology = topology::leaf_spine(fabric);
  for (topology::Link& link : topology.links) {
    link.forward = {.loss_per_million = 20'000,
                    .duplicate_per_million = 20'000,
                    .corrupt_header_per_million = 20'000,
                    .corrupt_payload_per_million = 20'000,
                    .reorder_per_million = 20'000,
                    .reorder_min = micros(1),
                    .reorder_max = micros(50)};
    link.backward = link.forward;
  }
  Network network(topology, {}, seed);
  RawHost a(network, 0);
  RawHost b(network, 3);
  for (uint32_t i = 0; i < datagrams; ++i) {
    a.send(b, 100 + i % 700, i % 64);
    if (i % 50 == 0) network.run_until(network.now() + micros(20));
  }
  network.run_until(network.now() + millis(1));
  EXPECT_EQ(network.packets_alive(), 0u);
  return {network.trace_hash(), b.numbers()};
}

TEST(Network, EqualSeedsGiveEqualHistories) {
  const auto first = history(7, 2'000);
  EXPECT_EQ(history(7, 2'000), first);
  EXPECT_NE(history(8, 2'000).second, first.second);
  std::set<uint64_t> hashes = {first.first};
  for (uint64_t seed = 100; seed < 120; ++seed) hashes.insert(history(seed, 500).first);
  EXPECT_EQ(hashes.size(), 21u);
}

class CountingAgent : public Agent {
 public:
  void run(Nanos now) override { times.push_back(now); }
  std::vector<Nanos> times;
};

TEST(Network, AgentsRunOnceAtTheEarliestRequestedTime) {
  Network network(topology::point_to_point({}), {}, 1);
  const Nanos start = network.now();
  CountingAgent agent;
  const AgentId id = network.add_agent(agent);
  network.schedule(id, start + micros(9));
  network.schedule(id, start + micros(5));
  network.schedule(id, start + micros(7));
  network.run_until(start + micros(20));
  EXPECT_THAT(agent.times, ElementsAre(start + micros(5)));
  network.schedule(id, start + micros(30));
  network.schedule(id, start);  // a past time means now
  network.run_until(start + micros(40));
  EXPECT_THAT(agent.times, ElementsAre(start + micros(5), start + micros(20)));
  network.schedule(id, start + micros(50));
  network.remove_agent(id);
  network.run_until(start + micros(60));
  EXPECT_EQ(agent.times.size(), 2u);
}

TEST(Network, AddressesIdentifyNics) {
  for (const NicId nic : {0u, 1u, 255u, 256u, 70'000u}) {
    EXPECT_EQ(nic_of(address_of(nic, 4'791)), nic);
  }
  EXPECT_EQ(nic_of(transport::Address{}), kNoIndex);
}

}  // namespace
}  // namespace heddle::simulator
