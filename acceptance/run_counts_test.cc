// Run counts: what grew between two readings, and the rows of it.
#include "acceptance/run_counts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "acceptance/params.h"
#include "base/temporary_folder.h"

namespace heddle::acceptance {
namespace {

using Counts = std::map<std::string, uint64_t>;

std::vector<PlaceCounts> one_host(const Counts& nic, const Counts& rdma = {}) {
  return {{"h0", false, true, {{"eth0", false, nic}, {"mlx5_0 port 1", true, rdma}}}};
}

std::vector<Row> rows_between(const Counts& before, const Counts& after) {
  return run_count_rows(counted_between(one_host(before), one_host(after)));
}

const Row& row_of(const std::vector<Row>& rows, const std::string& check) {
  for (const Row& row : rows) {
    if (row.check == check) return row;
  }
  ADD_FAILURE() << "no row " << check;
  return rows.front();
}

TEST(NicCounts, AreReadFromIp) {
  const char* const links =
      R"([{"ifname":"lo","stats64":{}},{"ifname":"eth0","flags":["UP","LOWER_UP"],)"
      R"("stats64":{"rx":{"bytes":9,"errors":1,)"
      R"("crc_errors":2,"dropped":3},"tx":{"packets":7,"carrier_errors":4,"carrier_changes":5}}}])";
  const auto nics = nic_counts_of(links, {"eth0", "eth1"});
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_EQ(nics[0].counts, (Counts{{"carrier_changes", 5},
                                    {"rx_bytes", 9},
                                    {"rx_crc_errors", 2},
                                    {"rx_dropped", 3},
                                    {"rx_errors", 1},
                                    {"tx_carrier_errors", 4}}));
  EXPECT_EQ(nics[0].carrier, true);
  EXPECT_EQ(nic_counts_in(json_of(nics)), nics);
}

TEST(NicCounts, WhatIpDoesNotWriteIsLeftOut) {
  for (const char* const text : {"", "{}", "[1]", R"([{"ifname":1,"stats64":{}}])",
                                 R"([{"ifname":"eth0"}])", R"([{"ifname":"eth0","stats64":7}])"}) {
    EXPECT_TRUE(nic_counts_of(text, {"eth0"}).empty()) << text;
    EXPECT_TRUE(nic_counts_in(Json::parse(text, nullptr, false)).empty()) << text;
  }
}

// A page of metrics replaces what is no UTF-8, and is refused where two NICs are then alike.
TEST(NicCounts, NamesThatAreNotPrintableAreLeftOut) {
  Json document = json_of(std::vector<NicCounts>{{"eth0", false, {{"rx_bytes", 1}}}});
  for (const char* const name : {"a\xff", "a\xfe", "a\nb", ""}) {
    document.push_back({{"device", name}, {"rdma", false}, {"counts", Json::object()}});
    document[0]["counts"][name] = 7;
  }
  const auto nics = nic_counts_in(document);
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_EQ(nics[0].counts, (Counts{{"rx_bytes", 1}}));
}

TEST(NicCounts, NicsAndCountersBeyondTheMostAreLeftOut) {
  Json document = Json::array();
  Json counts = Json::object();
  for (size_t i = 0; i < 2 * params::kMostCounters; ++i) counts[fmt::format("rx{}", i)] = i;
  for (size_t i = 0; i < 2 * params::kMostNics; ++i) {
    document.push_back({{"device", fmt::format("eth{}", i)}, {"counts", counts}});
  }
  const auto nics = nic_counts_in(document);
  ASSERT_EQ(nics.size(), params::kMostNics);
  EXPECT_EQ(nics.back().counts.size(), params::kMostCounters);
}

TEST(RunCounts, AHostThatDoesNotAnswerHasItsOwnRow) {
  std::vector<PlaceCounts> silent = one_host({});
  silent[0].known = false;
  EXPECT_EQ(run_count_rows(silent).back().where, "h0");
  silent[0].silent = true;
  for (const Row& row : run_count_rows(silent)) EXPECT_NE(row.where, "h0");
}

TEST(NicCounts, OfRdmaPortsAreThoseOfTheirHardware) {
  const auto folder = TemporaryFolder::make("heddle-rdma-test");
  ASSERT_TRUE(folder);
  const std::filesystem::path port =
      std::filesystem::path(folder->path()) / "class/infiniband/mlx5_0/ports/1";
  std::filesystem::create_directories(port / "hw_counters");
  std::ofstream(port / "hw_counters/out_of_sequence") << "12\n";
  std::ofstream(port / "hw_counters/lifespan") << "10\n";
  std::ofstream(port / "hw_counters/np_cnp_sent") << "N/A\n";
  EXPECT_EQ(rdma_counts(folder->path()),
            (std::vector<NicCounts>{{"mlx5_0 port 1", true, {{"out_of_sequence", 12}}}}));
}

TEST(RunCounts, ACarrierThatChangedFailsAndNamesHostAndNic) {
  const Row flap =
      row_of(rows_between({{"carrier_changes", 2}}, {{"carrier_changes", 4}}), "link flaps");
  EXPECT_EQ(flap.where, "h0");
  EXPECT_EQ(flap.measured, "eth0: carrier_changes 2");
  EXPECT_EQ(flap.grade, Grade::kFail);
  EXPECT_FALSE(flap.todo.empty());
}

// A management NIC that was plugged in again failed the fabric.
TEST(RunCounts, ACarrierOfANicThatIsNotTestedWarns) {
  const NicCounts before{.device = "usb0", .counts = {{"carrier_changes", 2}}};
  const NicCounts after{.device = "usb0", .counts = {{"carrier_changes", 4}}};
  for (const auto& [tested, grade] :
       {std::pair("eth0", Grade::kWarn), {"usb0", Grade::kFail}, {"", Grade::kFail}}) {
    const auto rows =
        run_count_rows(counted_between({{.place = "h0", .nics = {before}, .tested = tested}},
                                       {{.place = "h0", .nics = {after}, .tested = tested}}));
    EXPECT_EQ(row_of(rows, "link flaps").grade, grade) << tested;
  }
}

// It was a warning that the test did not use the NIC.
TEST(RunCounts, ACarrierOfAMemberOfTheTestedBondFails) {
  const auto host = [](uint64_t changes) -> std::vector<PlaceCounts> {
    return {{.place = "h0",
             .nics = {{.device = "eth1", .counts = {{"carrier_changes", changes}}}},
             .tested = "bond0",
             .below = {"eth0", "eth1"}}};
  };
  const Row flap = row_of(run_count_rows(counted_between(host(1), host(3))), "link flaps");
  EXPECT_EQ(flap.measured, "eth1: carrier_changes 2");
  EXPECT_EQ(flap.grade, Grade::kFail);
}

TEST(NicCounts, ATestedBondIsCountedWithItsMembers) {
  const auto folder = TemporaryFolder::make("heddle-bond-test");
  ASSERT_TRUE(folder);
  const std::filesystem::path net = std::filesystem::path(folder->path()) / "class/net";
  std::filesystem::create_directories(net / "vlan7/lower_bond0");
  std::filesystem::create_directories(net / "bond0/lower_eth3");
  std::filesystem::create_directories(net / "bond0/lower_eth4");
  std::filesystem::create_directories(net / "eth3/upper_bond0");
  EXPECT_EQ(devices_below(folder->path(), "vlan7"),
            (std::vector<std::string>{"bond0", "eth3", "eth4"}));
  EXPECT_TRUE(devices_below(folder->path(), "eth3").empty());
}

TEST(RunCounts, BothEndsOfALinkThatWasLostHaveOneRowByItsLabel) {
  const auto ends = [](uint64_t changes) -> std::vector<PlaceCounts> {
    const Counts lost{{"carrier_changes", changes}};
    const Counts kept{{"carrier_changes", 1}};
    const std::map<std::string, std::string> leaf = {{"spine0", "leaf0 - spine0"},
                                                     {"spine1", "leaf0 - spine1"}};
    return {{"leaf0", true, true, {{"spine0", false, kept}, {"spine1", false, lost}}, "", leaf},
            {"spine1", true, true, {{"leaf0", false, lost}}, "", {{"leaf0", "leaf0 - spine1"}}},
            {"h0", false, true, {{"nic0", false, lost}}, "nic0", {{"nic0", "h0 - leaf0"}}}};
  };
  const auto rows = run_count_rows(counted_between(ends(1), ends(3)));
  ASSERT_GE(rows.size(), 3U);
  EXPECT_EQ(rows[0].where, "leaf0 - spine1");
  EXPECT_EQ(rows[0].measured,
            "spine1 of leaf0: carrier_changes 2; leaf0 of spine1: carrier_changes 2");
  EXPECT_EQ(rows[1].where, "h0 - leaf0");
  EXPECT_EQ(rows[1].grade, Grade::kFail);
  EXPECT_EQ(rows[2].where, "1 of 4 NICs");
}

TEST(RunCounts, ErrorsBeforeTheTestAreNotItsOwn) {
  const std::vector<Row> rows = rows_between({{"rx_crc_errors", 7}, {"carrier_changes", 9}},
                                             {{"rx_crc_errors", 7}, {"carrier_changes", 9}});
  for (const Row& row : rows) EXPECT_EQ(row.grade, Grade::kOk) << row.check;
  EXPECT_EQ(row_of(rows, "NIC errors").where, "1 of 1 NICs");
}

TEST(RunCounts, ErrorsWarnAndDropsAreShown) {
  const std::vector<Row> rows =
      rows_between({{"rx_crc_errors", 7}, {"rx_dropped", 0}, {"rx_bytes", 1}},
                   {{"rx_crc_errors", 9}, {"rx_dropped", 5}, {"rx_bytes", 1'000}});
  EXPECT_EQ(row_of(rows, "NIC errors").measured, "eth0: rx_crc_errors 2");
  EXPECT_EQ(row_of(rows, "NIC errors").grade, Grade::kWarn);
  EXPECT_EQ(row_of(rows, "NIC drops").measured, "eth0: rx_dropped 5");
  EXPECT_TRUE(is_information(row_of(rows, "NIC drops"))) << "no number of drops is expected";
}

TEST(RunCounts, OfRdmaOnlyErrorsAreNamed) {
  const Counts before{{"out_of_sequence", 1},
                      {"port_xmit_data", 1},
                      {"ack_deferred", 0},
                      {"req_cqe_flush_error", 0}};
  const Counts after{{"out_of_sequence", 4},
                     {"port_xmit_data", 900},
                     {"ack_deferred", 8},
                     {"req_cqe_flush_error", 7}};
  const auto rows = run_count_rows(counted_between(one_host({}, before), one_host({}, after)));
  EXPECT_EQ(row_of(rows, "RDMA errors").measured, "mlx5_0 port 1: out_of_sequence 3");
  EXPECT_EQ(row_of(rows, "RDMA errors").grade, Grade::kWarn);
}

TEST(RunCounts, AnOlderHeddleWithoutCountersIsNamed) {
  std::vector<PlaceCounts> after = one_host({});
  after[0] = {"h0", false, false, {}};
  const auto rows = run_count_rows(counted_between(one_host({}), after));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].measured, "not known");
  EXPECT_EQ(rows[0].grade, Grade::kWarn);
}

TEST(RunCounts, RowsAreReplacedAndAFlapFailsTheStage) {
  StageReport stage{.name = "inventory", .outcome = StageOutcome::kPassed};
  set_run_counts(counted_between(one_host({{"rx_errors", 0}}), one_host({{"rx_errors", 2}})),
                 stage);
  const size_t rows = stage.rows.size();
  auto counted = counted_between(one_host({{"rx_errors", 9}}), one_host({{"rx_errors", 10}}));
  add_counts(counts_in(stage), counted);
  set_run_counts(counted, stage);
  EXPECT_EQ(stage.rows.size(), rows);
  EXPECT_EQ(row_of(stage.rows, "NIC errors").measured, "eth0: rx_errors 3");
  EXPECT_EQ(stage.outcome, StageOutcome::kPassed);
  set_run_counts(
      counted_between(one_host({{"carrier_changes", 0}}), one_host({{"carrier_changes", 1}})),
      stage);
  EXPECT_EQ(stage.outcome, StageOutcome::kFailed);
}

}  // namespace
}  // namespace heddle::acceptance
