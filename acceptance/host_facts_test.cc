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

TEST(HostFacts, PortsOfAnotherShapeAreNotFound) {
  const Result<std::vector<PortFacts>> ports = ports_of(
      R"([7,{"ifname":1},{"ifname":"h0","mtu":-1,"flags":"UP"},{"ifname":"h1","mtu":1e300}])",
      {"h0", "h1"});
  ASSERT_TRUE(ports);
  EXPECT_TRUE((*ports)[0].found);
  EXPECT_FALSE((*ports)[0].carrier);
  EXPECT_EQ((*ports)[0].mtu_bytes, 0U);
  EXPECT_EQ((*ports)[1].mtu_bytes, UINT32_MAX);
}

TEST(HostFacts, ShortensOffloads) {
  EXPECT_EQ(offloads_of("Features for nic0:\nrx-checksumming: on [fixed]\n"
                        "tx-checksumming: off\n\ttx-checksum-ipv4: on\n"
                        "tcp-segmentation-offload: off\n\ttx-tcp-segmentation: on\n"
                        "generic-receive-offload: on [fixed]\n"),
            "rx checksum on, tx checksum off, tso off, gro on");
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

std::vector<PlaceFacts> with_firmware(const std::vector<std::string>& values) {
  std::vector<PlaceFacts> places(values.size());
  for (size_t i = 0; i < places.size(); ++i) {
    places[i].name = "h" + std::to_string(i);
    places[i].facts = {{"NIC firmware", values[i]}};
  }
  return places;
}

// The host was named whose value is later in the alphabet.
TEST(HostFacts, HalfOfTheHostsAreNotBlamedForTheOtherHalf) {
  const std::vector<Row> two = compare_facts(with_firmware({"28.39", "28.35"}));
  ASSERT_EQ(two.size(), 1U);
  EXPECT_EQ(two[0].where + ": " + two[0].measured, "h0, h1: 28.39 on h0; 28.35 on h1");
  EXPECT_EQ(two[0].grade, Grade::kWarn);
  const std::vector<Row> four = compare_facts(with_firmware({"28.39", "28.35", "28.39", "28.35"}));
  ASSERT_EQ(four.size(), 1U);
  EXPECT_EQ(four[0].measured, "28.39 on h0, h2; 28.35 on h1, h3");
  const std::vector<Row> unknown = compare_facts(with_firmware({"28.39", "not known", "28.35"}));
  ASSERT_EQ(unknown.size(), 2U);
  EXPECT_EQ(unknown[0].where, "h0, h2");
  EXPECT_EQ(unknown[1].where + ": " + unknown[1].measured, "h1: not known");
  EXPECT_EQ(unknown[1].grade, Grade::kOk);
}

TEST(HostFacts, NicsThatAreNotTestedShowAndDoNotWarn) {
  std::vector<PlaceFacts> hosts(3);
  for (PlaceFacts& host : hosts) host.facts = {{"other NICs", "igb 4.1"}};
  hosts[1].name = "h1";
  hosts[1].facts[0].second = "igb 4.0";
  const std::vector<Row> rows = compare_facts(hosts);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].where, "2 of 3 hosts");
  EXPECT_EQ(rows[1].where + ": " + rows[1].measured, "h1: igb 4.0");
  EXPECT_EQ(rows[1].grade, Grade::kOk);
  hosts.pop_back();
  const std::vector<Row> split = compare_facts(hosts);
  ASSERT_EQ(split.size(), 1u);
  EXPECT_TRUE(is_information(split[0])) << split[0].measured;
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

TEST(HostFacts, AFactThatAHostDoesNotKnowIsNoOutlier) {
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
  places[0] = {"a", false, {}, {}, ClockOffset{0.2, 0.005}, {}};
  places[1] = {"b", false, {}, {}, ClockOffset{-2.0, 0.005}, {}};
  places[2] = {"c", false, {}, {}, ClockOffset{-0.3, 0.6}, {}};
  const std::vector<Row> rows = compare_clocks(places);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].where, "b");
  EXPECT_EQ(rows[0].measured, "2.0 s behind, to within 5.00 ms");
  EXPECT_EQ(rows[0].grade, Grade::kWarn);
  EXPECT_EQ(rows[1].where, "2 of 3 hosts");
  EXPECT_EQ(rows[1].measured, "apart by at most 900 ms");
}

std::vector<PlaceFacts> with_clocks(const std::vector<double>& ahead_s) {
  std::vector<PlaceFacts> places(ahead_s.size());
  for (size_t i = 0; i < places.size(); ++i) {
    places[i].name = "h" + std::to_string(i);
    places[i].clock = ClockOffset{ahead_s[i], 0.001};
  }
  return places;
}

// "h0: 2.0 s ahead, to within 2.00 ms", of each warning.
std::vector<std::string> clocks_apart(const std::vector<Row>& rows) {
  std::vector<std::string> found;
  for (const Row& row : rows) {
    if (row.grade == Grade::kWarn) found.push_back(row.where + ": " + row.measured);
  }
  return found;
}

using Places = std::vector<std::string>;

// All other hosts were warned, and the one that is off passed: the test ran on it.
TEST(HostFacts, AClockThatIsOffIsNamedAlsoWhereTheTestRunsOnIt) {
  const std::vector<Row> rows = compare_clocks(with_clocks({0, -2, -2}));
  EXPECT_EQ(clocks_apart(rows), Places{"h0: 2.0 s ahead, to within 2.00 ms"});
  EXPECT_EQ(rows.front().expected, "within 1 s of most hosts");
  EXPECT_EQ(rows.back().where, "2 of 3 hosts");
  EXPECT_EQ(clocks_apart(compare_clocks(with_clocks({0, 0.1, 2.5, -0.1}))),
            Places{"h2: 2.4 s ahead, to within 2.00 ms"});
}

TEST(HostFacts, WithoutAMajorityClocksAreComparedWithThisMachines) {
  for (const auto& clocks : {std::vector<double>{0, -2}, {0, -2, 0, -2}, {0, -2, 5}}) {
    const std::vector<Row> rows = compare_clocks(with_clocks(clocks));
    EXPECT_EQ(rows.front().where + ": " + rows.front().measured,
              "h1: 2.0 s behind, to within 1.00 ms");
    EXPECT_EQ(rows.back().expected, "within 1 s of this machine's");
  }
}

TEST(HostFacts, AMachineThatRunsTheTestAndIsNoHostIsNamedToo) {
  const std::vector<Row> rows = compare_clocks(with_clocks({-2, -2.1, -1.9}));
  EXPECT_EQ(clocks_apart(rows), Places{"this machine: 2.0 s ahead, to within 1.00 ms"});
  EXPECT_EQ(rows.back().where, "3 of 3 hosts");
}

TEST(HostFacts, AClockThatIsReadInexactlyHasNoVote) {
  std::vector<PlaceFacts> places = with_clocks({0, -2, -2});
  places[2].clock->error_s = 0.6;
  EXPECT_EQ(clocks_apart(compare_clocks(places)).front(), "h1: 2.0 s behind, to within 1.00 ms");
}

// They passed: one that may be apart, and one that did not answer.
TEST(HostFacts, AClockThatIsNotKnownDoesNotPass) {
  std::vector<PlaceFacts> places(3);
  places[0] = {"a", false, {}, {}, ClockOffset{0.2, 0.005}, {}};
  places[1] = {"b", false, {}, {}, ClockOffset{-1.5, 0.6}, {}};
  places[2].name = "c";
  const std::vector<Row> rows = compare_clocks(places);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].where + ": " + rows[0].measured, "b: not known: an answer took 1.20 s");
  EXPECT_EQ(rows[0].grade, Grade::kWarn);
  EXPECT_EQ(rows[1].where + ": " + rows[1].measured, "c: not known");
  EXPECT_EQ(rows[1].grade, Grade::kWarn);
  EXPECT_EQ(rows[2].where, "1 of 3 hosts");
}

}  // namespace
}  // namespace heddle::acceptance
