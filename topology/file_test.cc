// Topology files: the meaning of the keys, and errors with their line.
#include "topology/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "topology/names.h"

namespace heddle::topology {
namespace {

using testing::HasSubstr;
using testing::Not;

Topology parsed(const std::string& text) {
  Result<Topology> topology = parse_topology(text, "t.toml");
  EXPECT_TRUE(topology) << topology.error().message();
  return topology ? std::move(*topology) : Topology{};
}

std::string refused(const std::string& text) {
  const Result<Topology> topology = parse_topology(text, "t.toml");
  return topology ? "accepted" : topology.error().message();
}

constexpr const char* kSmall = R"(version = 1
[fabric]
kind = "leaf_spine"
[switch_link]
rate = "200Mbit/s"
)";

TEST(TopologyFile, TheFabricHasTheLinksOfTheTables) {
  const Topology topology = parsed(R"(version = 1
[fabric]
kind = "leaf_spine"
leaves = 3
spines = 2
hosts_per_leaf = 4
hash_seed = 7
[host_link]
rate = "1.5Gbit/s"
queue = "125KB"
mtu = 1500
loss = "0.5%"
[switch_link]
rate = "unlimited"
delay = "2.5us"
ecn = true
)");
  EXPECT_EQ(topology.hosts.size(), 12u);
  EXPECT_EQ(topology.switches.size(), 5u);
  ASSERT_EQ(topology.links.size(), 18u);
  EXPECT_EQ(topology.links[0].shape.rate.count, 1'500'000'000u);
  EXPECT_EQ(topology.links[0].shape.queue.count, 125'000u);
  EXPECT_EQ(topology.links[0].shape.mtu_bytes, 1'500u);
  EXPECT_EQ(topology.links[0].shape.ecn_threshold.count, UINT64_MAX);
  EXPECT_EQ(topology.links[0].backward.loss_per_million, 5'000u);
  EXPECT_EQ(topology.links[17].shape.rate.count, 0u);
  EXPECT_EQ(topology.links[17].shape.delay, nanos(2'500));
  EXPECT_EQ(topology.links[17].shape.ecn_threshold.count, mebibytes(1).count / 4);
  EXPECT_EQ(topology.links[17].forward.loss_per_million, 0u);
}

TEST(TopologyFile, EcnMarkingMayHaveARamp) {
  const Topology topology = parsed(R"(version = 1
[fabric]
kind = "leaf_spine"
[host_link]
ecn_min = "100KB"
ecn_max = "400KB"
[switch_link]
ecn_min = "10KB"
ecn_max = "11KB"
ecn_max_probability = "1%"
[[override]]
link = ["h0", "leaf0"]
queue = "2MB"
[[override]]
link = ["h1", "leaf0"]
ecn_threshold = "7KB"
[[override]]
link = ["h2", "leaf1"]
ecn = false
)");
  const auto shape = [&topology](size_t link) { return topology.links[link].shape; };
  EXPECT_EQ(shape(0).ecn_threshold.count, 100'000u) << "a ramp does not hang on the queue";
  EXPECT_EQ(shape(0).ecn_ramp.count, 300'000u);
  EXPECT_EQ(shape(0).ecn_ramp_per_million, 100'000u);
  EXPECT_EQ(shape(1).ecn_threshold.count, 7'000u);
  EXPECT_EQ(shape(1).ecn_ramp.count, 0u);
  EXPECT_EQ(shape(2).ecn_threshold.count, UINT64_MAX);
  EXPECT_EQ(shape(2).ecn_ramp.count, 0u);
  EXPECT_EQ(shape(3).ecn_ramp.count, 300'000u);
  EXPECT_EQ(shape(4).ecn_threshold.count, 10'000u);
  EXPECT_EQ(shape(4).ecn_ramp.count, 1'000u);
  EXPECT_EQ(shape(4).ecn_ramp_per_million, 10'000u);
}

TEST(TopologyFile, AnInvalidRampIsRefused) {
  const auto with = [](const std::string& keys) { return refused(kSmall + keys); };
  EXPECT_THAT(with("ecn_min = \"1KB\"\n"), HasSubstr("the key 'ecn_max' is missing"));
  EXPECT_THAT(with("ecn_max_probability = \"1%\"\n"), HasSubstr("'ecn_min' is missing"));
  EXPECT_THAT(with("ecn_min = \"2KB\"\necn_max = \"2KB\"\n"), HasSubstr("t.toml:7"));
  EXPECT_THAT(with("ecn_min = \"1KB\"\necn_max = \"2KB\"\necn_threshold = \"1KB\"\n"),
              HasSubstr("say when packets are marked"));
  EXPECT_THAT(with("ecn = false\necn_min = \"1KB\"\necn_max = \"2KB\"\n"),
              HasSubstr("'ecn' is false"));
}

TEST(TopologyFile, SwitchesMayShareMemoryAndPause) {
  const Topology topology = parsed(std::string(kSmall) + R"(
[switches]
buffer = "4MB"
alpha = "1/2"
reserve = "10KB"
[[switch]]
name = "spine1"
reserve = "0B"
pfc = true
xoff = "100KB"
[[switch]]
name = "far"
buffer = "1MB"
trimming = true
[[link]]
ends = ["far", "leaf0"]
)");
  const auto shape = [&topology](const char* name) {
    return topology.switches[*find_switch(topology, name)].shape;
  };
  EXPECT_EQ(shape("leaf0").buffer.count, 4'000'000u);
  EXPECT_EQ(shape("leaf0").alpha, 1u);
  EXPECT_EQ(shape("leaf0").alpha_divisor, 2u);
  EXPECT_EQ(shape("leaf0").reserve.count, 10'000u);
  EXPECT_FALSE(shape("leaf0").lossless);
  EXPECT_EQ(shape("far").buffer.count, 1'000'000u);
  EXPECT_TRUE(shape("far").trims);
  EXPECT_FALSE(shape("leaf0").trims);
  EXPECT_EQ(shape("far").alpha_divisor, 2u);
  EXPECT_TRUE(shape("spine1").lossless);
  EXPECT_EQ(shape("spine1").xoff.count, 100'000u);
  // Two packets of 9,038 bytes at 200 Mbit/s, 1 us in each direction, two frames of 3,360 ns; and
  // one packet of 9,038.
  const PauseLimits limits = pause_limits(shape("spine1"), 2, topology.links.back().shape);
  EXPECT_EQ(limits.headroom.count, 3u * 9'038 + 50 + 2 * 84);
  EXPECT_EQ(limits.xon.count, 100'000u - 2 * 9'038);
}

TEST(TopologyFile, SwitchesMayBalanceOtherwiseThanByHash) {
  const Topology topology = parsed(std::string(kSmall) + R"(
[switches]
balancing = "flowlet"
flowlet_gap = "20us"
[[switch]]
name = "spine1"
balancing = "adaptive"
[[switch]]
name = "spine0"
trimming = true
)");
  const auto shape = [&topology](const char* name) {
    return topology.switches[*find_switch(topology, name)].shape;
  };
  EXPECT_EQ(shape("leaf0").balancing, Balancing::kFlowlet);
  EXPECT_EQ(shape("leaf0").flowlet_gap, micros(20));
  EXPECT_EQ(shape("spine1").balancing, Balancing::kAdaptive);
  EXPECT_TRUE(shape("spine0").trims);
  EXPECT_EQ(parsed(kSmall).switches[0].shape.balancing, Balancing::kEcmp);
}

TEST(TopologyFile, InvalidSwitchesAreRefused) {
  const auto with = [](const std::string& keys) {
    return refused(std::string(kSmall) + "[switches]\n" + keys);
  };
  EXPECT_THAT(with("pfc = true\n"), HasSubstr("t.toml:7: the switch has no 'buffer'"));
  EXPECT_THAT(with("buffer = \"1MB\"\npfc = true\ntrimming = true\n"),
              HasSubstr("nothing to trim"));
  EXPECT_THAT(with("alpha = \"2\"\n"), HasSubstr("the switch has no 'buffer'"));
  EXPECT_THAT(with("buffer = \"1MB\"\nalpha = \"0\"\n"), HasSubstr("t.toml:8: 'alpha' is \"0\""));
  EXPECT_THAT(with("buffer = \"1MB\"\nxoff = \"9KB\"\n"), HasSubstr("'pfc' is not set"));
  EXPECT_THAT(with("balancing = \"random\"\n"),
              HasSubstr("t.toml:7: there is no balancing \"random\""));
  EXPECT_THAT(with("flowlet_gap = \"9us\"\n"), HasSubstr("'balancing' is not \"flowlet\""));
  EXPECT_THAT(with("buffer = \"9KB\"\n"), HasSubstr("a full packet of each port"));
  EXPECT_THAT(with("buffer = \"50KB\"\nreserve = \"20KB\"\n"), HasSubstr("the reserves"));
  EXPECT_THAT(with("buffer = \"1MB\"\npfc = true\nreserve = \"1KB\"\n"), HasSubstr("a reserve"));
  EXPECT_THAT(with("buffer = \"1MB\"\npfc = true\nxoff = \"9KB\"\n"),
              HasSubstr("pauses before a port has taken one full packet"));
  EXPECT_THAT(with("buffer = \"1MB\"\npfc = true\nxoff = \"50KB\"\nxon = \"49KB\"\n"),
              HasSubstr("less than a full packet below"));
  EXPECT_THAT(with("buffer = \"1MB\"\npfc = true\nxoff = \"300KB\"\n"),
              HasSubstr("before that is heeded"));
  EXPECT_THAT(refused(std::string(kSmall) + "[[switch]]\nname = \"leaf0\"\n"),
              HasSubstr("there is a 'leaf0' already"));
}

TEST(TopologyFile, ASwitchWithoutLinksIsRefused) {
  const std::string lonely =
      refused(std::string(kSmall) + "[[switch]]\nbuffer = \"2MB\"\nname = \"laef0\"\n");
  EXPECT_THAT(lonely, HasSubstr("t.toml:8: no link goes to the switch 'laef0'"));
  EXPECT_THAT(lonely, HasSubstr("do you mean 'leaf0'?"));
  const std::string other = refused(std::string(kSmall) + "[[switch]]\nname = \"tor\"\n");
  EXPECT_THAT(other, HasSubstr("no link goes to the switch 'tor'"));
  EXPECT_THAT(other, Not(HasSubstr("do you mean")));
}

TEST(TopologyFile, AnOverrideChangesOneLinkAndKeepsItsOtherKeys) {
  const Topology topology = parsed(std::string(kSmall) + R"(
[[override]]
link = ["spine1", "leaf0"]
rate = "50Mbit/s"
corrupt = "1%"
)");
  const Result<LinkEnds> ends = find_link(topology, "leaf0", "spine1");
  ASSERT_TRUE(ends);
  EXPECT_TRUE(ends->forward);
  const Link& link = topology.links[ends->link];
  EXPECT_EQ(link.shape.rate, megabits_per_s(50));
  EXPECT_EQ(link.shape.mtu_bytes, 9'000u);
  EXPECT_EQ(link.forward.corrupt_header_per_million + link.forward.corrupt_payload_per_million,
            10'000u);
  EXPECT_EQ(topology.links[ends->link + 1].shape.rate, megabits_per_s(200));
}

TEST(TopologyFile, SingleHostsSwitchesAndLinksAreAdded) {
  const Topology topology = parsed(R"(version = 1
[[host]]
name = "left"
nics = 2
[[host]]
name = "right"
nics = 2
[[switch]]
name = "tor"
hash_seed = 9
[[link]]
ends = ["left", "tor"]
[[link]]
ends = ["tor", "right"]
rate = "10Mbit/s"
[[link]]
ends = ["left.1", "right.1"]
)");
  EXPECT_EQ(topology.nics.size(), 4u);
  EXPECT_EQ(topology.switches[0].hash_seed, 9u);
  EXPECT_EQ(topology.links[1].shape.rate, megabits_per_s(10));
  EXPECT_EQ(link_label(topology, 2), "left.1 - right.1");
}

TEST(TopologyFile, RailsPutEachNicOfAHostOnItsOwnLeaf) {
  const Topology topology = parsed(R"(version = 1
[fabric]
kind = "leaf_spine"
leaves = 4
nics_per_host = 2
rails = true
)");
  EXPECT_EQ(topology.hosts.size(), 4u);
  EXPECT_TRUE(find_link(topology, "h0.1", "leaf1"));
  EXPECT_TRUE(find_link(topology, "h3", "leaf2"));
  EXPECT_TRUE(find_link(topology, "h3.1", "leaf3"));
}

TEST(TopologyFile, FaultsAccumulateInOrderOfTime) {
  const Topology topology = parsed(std::string(kSmall) + R"(
[[fault]]
at = "3s"
link = ["leaf1", "spine0"]
kind = "corrupt"
corrupt = "0.1%"
[[fault]]
at = "2s"
link = ["spine0", "leaf1"]
kind = "loss"
loss = "1%"
one_way = true
[[fault]]
at = "4s"
link = ["leaf0", "spine0"]
kind = "down"
[[fault]]
at = "500ms"
host = "h2"
kind = "pause"
)");
  ASSERT_EQ(topology.changes.size(), 5u);
  EXPECT_EQ(topology.changes[0].at, seconds(2));
  EXPECT_EQ(topology.changes[0].direction, LinkDirection::kBackward);
  EXPECT_EQ(topology.changes[0].faults.loss_per_million, 10'000u);
  EXPECT_EQ(topology.changes[1].faults.loss_per_million, 0u);
  EXPECT_EQ(topology.changes[2].direction, LinkDirection::kBackward);
  EXPECT_EQ(topology.changes[2].faults.loss_per_million, 10'000u) << "the loss goes on";
  EXPECT_EQ(topology.changes[2].faults.corrupt_payload_per_million, 500u);
  EXPECT_EQ(topology.changes[3].kind, LinkChangeKind::kDown);
  EXPECT_EQ(topology.changes[4].kind, LinkChangeKind::kNotice);
  ASSERT_EQ(topology.host_changes.size(), 1u);
  EXPECT_EQ(topology.host_changes[0].host, 2u);
  EXPECT_TRUE(topology.host_changes[0].paused);
}

TEST(TopologyFile, MistakesAreReportedWithTheirLine) {
  EXPECT_THAT(refused("[fabric]\nkind = \"fat_tree\"\n"), HasSubstr("'version' is missing"));
  EXPECT_THAT(refused("version = 2\n"), HasSubstr("t.toml:1: the version of its schema is 2"));
  EXPECT_THAT(refused("version = 1\n"), HasSubstr("it has no hosts"));
  EXPECT_THAT(refused("version = 1\n\nfabrik = 1\n"), HasSubstr("t.toml:3: the key 'fabrik'"));
  EXPECT_THAT(refused("version = 1\n[fabric]\nkind = \"ring\"\n"), HasSubstr("t.toml:3"));
  EXPECT_THAT(refused("version = 1\n[fabric]\nkind = \"fat_tree\"\nspines = 2\n"),
              HasSubstr("t.toml:4: the key 'spines' is not known"));
  EXPECT_THAT(refused("version = 1\n[fabric]\nkind = \"fat_tree\"\npods = 0\n"),
              HasSubstr("t.toml:4: 'pods' is 0"));
  EXPECT_THAT(refused("version = 1\n[host_link]\nrate = \"200Mbi\"\n"),
              HasSubstr("t.toml:3: 'rate' is \"200Mbi\", which is no rate"));
  EXPECT_THAT(refused("version = 1\n[host_link]\nqueue = \"1KB\"\n"),
              HasSubstr("t.toml:3: the queue does not hold one full packet"));
  EXPECT_THAT(refused("version = 1\n[host_link]\nloss = 0.01\n"),
              HasSubstr("t.toml:3: 'loss' has a value of another type"));
  EXPECT_THAT(refused("version = 1\n[[host]]\nname = \"a b\"\n"), HasSubstr("cannot be a name"));
  EXPECT_THAT(refused("version = 1\n[[host]]\nname = \"a\"\n"),
              HasSubstr("0 links instead of one"));
  EXPECT_THAT(refused("version = \n"), HasSubstr("cannot read t.toml:1"));
}

TEST(TopologyFile, MistakesInLinksAndFaultsListWhatExists) {
  const std::string small = kSmall;
  EXPECT_THAT(
      refused(small + "[[override]]\nlink = [\"leaf0\", \"leaf1\"]\n"),
      HasSubstr("t.toml:7: no link between leaf0 and leaf1 (leaf0 reaches: h0, h1, spine0"));
  EXPECT_THAT(refused(small + "[[link]]\nends = [\"leaf0\", \"leaf7\"]\n"),
              HasSubstr("t.toml:7: there is no host or switch 'leaf7'"));
  EXPECT_THAT(refused(small + "[[fault]]\nat = \"2\"\nhost = \"h0\"\nkind = \"pause\"\n"),
              HasSubstr("t.toml:7: 'at' is \"2\", which is no time"));
  EXPECT_THAT(refused(small + "[[fault]]\nat = \"2s\"\nhost = \"h9\"\nkind = \"pause\"\n"),
              HasSubstr("t.toml:8: there is no host 'h9'"));
  EXPECT_THAT(refused(small + "[[fault]]\nat = \"2s\"\nkind = \"flood\"\n"),
              HasSubstr("t.toml:8: there is no fault \"flood\""));
  EXPECT_THAT(refused(small + "[[fault]]\nat = \"2s\"\nkind = \"loss\"\n"
                              "link = [\"h0\", \"leaf0\"]\n"),
              HasSubstr("'loss' is missing"));
}

}  // namespace
}  // namespace heddle::topology
