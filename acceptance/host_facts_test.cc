// Host facts: what is read from ip and ethtool, and who differs.
#include "acceptance/host_facts.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

TEST(HostFacts, ReadsPortsInTheOrderAskedFor) {
  const char* const document =
      R"([{"ifname":"lo","flags":["LOOPBACK","UP"],"mtu":65536},)"
      R"({"ifname":"spine1","flags":["NO-CARRIER","BROADCAST","UP"],"mtu":1500},)"
      R"({"ifname":"h0","flags":["BROADCAST","UP","LOWER_UP"],"mtu":9000}])";
  const Result<std::vector<PortFacts>> ports = ports_of(document, {"h0", "spine1", "spine2"});
  ASSERT_TRUE(ports);
  ASSERT_EQ(ports->size(), 3u);
  EXPECT_TRUE((*ports)[0].carrier);
  EXPECT_EQ((*ports)[0].mtu_bytes, 9000u);
  EXPECT_FALSE((*ports)[1].carrier);
  EXPECT_FALSE((*ports)[2].found);
  EXPECT_FALSE(ports_of("Device does not exist", {"h0"}));
}

TEST(HostFacts, ShortensOffloads) {
  EXPECT_EQ(offloads_of("Features for nic0:\ntcp-segmentation-offload: off\n"
                        "\ttx-tcp-segmentation: on\ngeneric-receive-offload: on [fixed]\n"),
            "tso off, gro on");
}

TEST(HostFacts, NamesTheHostThatDiffers) {
  std::vector<PlaceFacts> hosts;
  for (const char* const name : {"h0", "h1", "h2", "h3"}) {
    hosts.push_back({name, false, {}, {{"offloads", "gro on"}, {"TCP", "cubic"}}, {}, {}});
  }
  EXPECT_EQ(compare_facts(hosts).size(), 2u);
  hosts[2].facts[0].second = "gro off";
  const std::vector<Row> rows = compare_facts(hosts);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].where, "3 of 4 hosts");
  EXPECT_EQ(rows[1].where, "h2");
  EXPECT_EQ(rows[1].grade, Grade::kWarn);
  EXPECT_EQ(rows[1].measured, "gro off");
}

TEST(HostFacts, AnOlderHeddleThatLacksFactsIsNamedAndHasNoSay) {
  std::vector<PlaceFacts> hosts(4);
  for (size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].name = "h" + std::to_string(i);
    hosts[i].facts = {{"TCP", "cubic"}, {"NIC firmware", "28.39"}, {"GPUs", "none"}};
  }
  hosts[0].facts.resize(1);
  hosts[3].is_switch = true;
  hosts[3].facts.clear();
  const std::vector<Row> rows = compare_facts(hosts);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].where, "2 of 2 hosts");
  EXPECT_EQ(rows[3].check, "facts");
  EXPECT_EQ(rows[3].where, "h0");
  EXPECT_EQ(rows[3].measured, "not known: NIC firmware, GPUs");
  EXPECT_EQ(rows[3].grade, Grade::kWarn);
}

TEST(HostFacts, WhatAHostDoesNotKnowIsNoOutlier) {
  std::vector<PlaceFacts> hosts(3);
  for (PlaceFacts& host : hosts) host.facts = {{"firewall", "not known"}};
  EXPECT_EQ(compare_facts(hosts).front().where, "3 of 3 hosts");
  EXPECT_EQ(compare_facts(hosts).size(), 1u);
  hosts[1].facts[0].second = "drops nothing";
  const std::vector<Row> rows = compare_facts(hosts);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].where, "1 of 3 hosts");
  EXPECT_EQ(rows[0].measured, "drops nothing");
  for (const Row& row : rows) EXPECT_EQ(row.grade, Grade::kOk) << row.where;
}

TEST(HostFacts, NamesTheClockThatIsApart) {
  std::vector<PlaceFacts> places(3);
  EXPECT_TRUE(compare_clocks(places).empty()) << "they have one clock";
  places[0] = {"a", false, {}, {}, 0.2, {}};
  places[1] = {"b", false, {}, {}, -2.0, {}};
  places[2] = {"c", false, {}, {}, 0.0, {}};
  const std::vector<Row> rows = compare_clocks(places);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].where, "b");
  EXPECT_EQ(rows[0].measured, "2.0 s behind");
  EXPECT_EQ(rows[0].grade, Grade::kWarn);
  EXPECT_EQ(rows[1].where, "2 of 3 hosts");
}

}  // namespace
}  // namespace heddle::acceptance
