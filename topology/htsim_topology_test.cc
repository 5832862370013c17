// htsim's topologies: the fabrics that they describe, and errors with their line.
#include "topology/htsim_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "topology/names.h"

namespace heddle::topology {
namespace {

using testing::HasSubstr;

// Two pods of two leaves and two spines; two cables between a spine and each of its two cores.
constexpr const char* kThreeTiers = R"(# bundles
Nodes 8
Tiers 3
Podsize 4

Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 100

Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 2000
Bundle 1

tier 2
downlink_speed_gbps 100
radix_down 4
downlink_latency_ns 3000
bundle 2
)";

constexpr const char* kTwoTiers = R"(Nodes 32
Tiers 2
Podsize 32
Tier 0
Downlink_speed_Gbps 100
Radix_Down 8
Radix_Up 2
Queue_Up 200000
Downlink_Latency_ns 1000
Oversubscribed 4
Tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Queue_Down 200000
Downlink_Latency_ns 1000
)";

Topology parsed(const std::string& text) {
  Result<Topology> topology = parse_htsim_topology(text, "t.topo", {});
  EXPECT_TRUE(topology) << topology.error().message();
  return topology ? std::move(*topology) : Topology{};
}

std::string refused(const std::string& text) {
  const Result<Topology> topology = parse_htsim_topology(text, "t.topo", {});
  return topology ? "accepted" : topology.error().message();
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST(HtsimTopology, ThreeTiersWithBundles) {
  const Topology topology = parsed(kThreeTiers);
  EXPECT_TRUE(validate(topology));
  EXPECT_EQ(topology.hosts.size(), 8u);
  EXPECT_EQ(topology.switches.size(), 4u + 4u + 4u);
  EXPECT_EQ(topology.links.size(), 8u + 8u + 16u);
  EXPECT_TRUE(find_link(topology, "spine1", "core3", 1)) << "the second cable of a bundle";
  EXPECT_FALSE(find_link(topology, "spine1", "core0"));
  const Link& host = topology.links.front();
  EXPECT_EQ(host.shape.rate, gigabits_per_s(200));
  EXPECT_EQ(host.shape.delay, nanos(1'050)) << "and half of the switch's latency";
  EXPECT_EQ(topology.links[8].shape.delay, nanos(2'050));
  EXPECT_EQ(topology.links.back().shape.rate, gigabits_per_s(100));
  EXPECT_EQ(topology.links.back().shape.delay, nanos(3'000));
}

TEST(HtsimTopology, TwoTiersOversubscribed) {
  const Topology topology = parsed(kTwoTiers);
  EXPECT_EQ(topology.hosts.size(), 32u);
  EXPECT_EQ(topology.switches.size(), 4u + 2u);
  EXPECT_EQ(topology.links.size(), 32u + 8u);
  EXPECT_EQ(topology.links.front().shape.queue, mebibytes(1)) << "as the command line says";
  EXPECT_EQ(topology.links.back().shape.queue, Bytes{200'000});
}

TEST(HtsimTopology, AThresholdAboveEveryQueueIsRefused) {
  const auto use = [](uint64_t threshold) {
    return parse_htsim_topology(kTwoTiers, "t.topo", {.ecn_threshold = {threshold}});
  };
  EXPECT_TRUE(use(200'000));
  const Result<Topology> above = use(200'001);
  ASSERT_FALSE(above);
  EXPECT_THAT(above.error().message(),
              HasSubstr("t.topo:14: packets would be marked above 200001"));
  EXPECT_THAT(above.error().message(), HasSubstr("a queue holds 200000"));
}

TEST(HtsimTopology, MistakesAreReportedWithTheirLine) {
  const std::string two = kTwoTiers;
  const std::string three = kThreeTiers;
  EXPECT_THAT(refused(""), HasSubstr("no line 'Nodes'"));
  EXPECT_THAT(refused(with(two, "Tiers 2", "Tiers 4")), HasSubstr("t.topo:2: 'Tiers' is 4"));
  EXPECT_THAT(refused(with(two, "Nodes 32", "Nodes 999999999")), HasSubstr("t.topo:1"));
  EXPECT_THAT(refused(with(two, "Nodes 32", "Nodes 32 33")), HasSubstr("t.topo:1: '33'"));
  EXPECT_THAT(refused(with(two, "Radix_Up", "Radix_Over")), HasSubstr("t.topo:7: 'radix_over'"));
  EXPECT_THAT(refused(with(two, "Radix_Up 2", "Radix_Down 2")), HasSubstr("is there twice"));
  EXPECT_THAT(refused(with(two, "Radix_Up 2", "")),
              HasSubstr("t.topo:4: tier 0 has no 'Radix_Up'"));
  EXPECT_THAT(refused(with(two, "Tier 0\n", "")),
              HasSubstr("t.topo:4: 'downlink_speed_gbps' stands"));
  EXPECT_THAT(refused(with(two, "Tier 1\n", "Tier 2\n")), HasSubstr("does not describe tier 1"));
  EXPECT_THAT(refused(with(two, "Radix_Down 4", "Radix_Down 5")),
              HasSubstr("t.topo:13: 'Radix_Down' is 5, and the tier below needs 4"));
  EXPECT_THAT(refused(with(two, "Oversubscribed 4", "Oversubscribed 2")),
              HasSubstr("t.topo:10: a switch of tier 0 has 800 Gb/s down and 200 Gb/s up"));
  EXPECT_THAT(refused(with(two, "Queue_Down 200000", "Queue_Down 100000")),
              HasSubstr("t.topo:8: the queues at both ends of a cable differ"));
  EXPECT_THAT(refused(with(two, "Queue_Up 200000", "Queue_Up 500")), HasSubstr("differ"));
  EXPECT_THAT(refused(with(two, "Radix_Down 8", "Radix_Down 8\nQueue_Down 500")),
              HasSubstr("t.topo:7: the queue does not hold one full packet"));
  EXPECT_THAT(refused(with(three, "Podsize 4", "Podsize 3")), HasSubstr("t.topo:4: the nodes"));
  EXPECT_THAT(refused(with(three, "Bundle 1", "Bundle 2")), HasSubstr("t.topo:"));
  EXPECT_THAT(refused(with(three, "radix_down 4", "radix_down 4\nradix_up 4")),
              HasSubstr("the top tier has a 'Radix_Up'"));
}

}  // namespace
}  // namespace heddle::topology
