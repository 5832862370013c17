// Run counts: what grew between two readings, and the rows of it.
#include "acceptance/run_counts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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
      R"([{"ifname":"lo","stats64":{}},{"ifname":"eth0","stats64":{"rx":{"bytes":9,"errors":1,)"
      R"("crc_errors":2,"dropped":3},"tx":{"packets":7,"carrier_errors":4,"carrier_changes":5}}}])";
  const auto nics = nic_counts_of(links, {"eth0", "eth1"});
  ASSERT_EQ(nics.size(), 1U);
  EXPECT_EQ(nics[0].counts, (Counts{{"carrier_changes", 5},
                                    {"rx_crc_errors", 2},
                                    {"rx_dropped", 3},
                                    {"rx_errors", 1},
                                    {"tx_carrier_errors", 4}}));
  EXPECT_EQ(nic_counts_in(json_of(nics)), nics);
}

TEST(NicCounts, WhatIpDoesNotWriteIsLeftOut) {
  for (const char* const text : {"", "{}", "[1]", R"([{"ifname":1,"stats64":{}}])",
                                 R"([{"ifname":"eth0"}])", R"([{"ifname":"eth0","stats64":7}])"}) {
    EXPECT_TRUE(nic_counts_of(text, {"eth0"}).empty()) << text;
    EXPECT_TRUE(nic_counts_in(Json::parse(text, nullptr, false)).empty()) << text;
  }
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

TEST(RunCounts, ErrorsBeforeTheTestAreNotItsOwn) {
  const std::vector<Row> rows = rows_between({{"rx_crc_errors", 7}, {"carrier_changes", 9}},
                                             {{"rx_crc_errors", 7}, {"carrier_changes", 9}});
  for (const Row& row : rows) EXPECT_EQ(row.grade, Grade::kOk) << row.check;
  EXPECT_EQ(row_of(rows, "NIC errors").where, "1 of 1 NICs");
}

TEST(RunCounts, ErrorsWarnAndDropsAreShown) {
  const std::vector<Row> rows = rows_between({{"rx_crc_errors", 7}, {"rx_dropped", 0}},
                                             {{"rx_crc_errors", 9}, {"rx_dropped", 5}});
  EXPECT_EQ(row_of(rows, "NIC errors").measured, "eth0: rx_crc_errors 2");
  EXPECT_EQ(row_of(rows, "NIC errors").grade, Grade::kWarn);
  EXPECT_EQ(row_of(rows, "NIC drops").measured, "eth0: rx_dropped 5");
  EXPECT_EQ(row_of(rows, "NIC drops").grade, Grade::kOk);
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

TEST(RunCounts, ATestThatGoesOnAddsWhatTheEarlierOneCounted) {
  StageReport inventory{.name = "inventory", .outcome = StageOutcome::kPassed};
  add_run_counts(counted_between(one_host({{"rx_errors", 0}}), one_host({{"rx_errors", 2}})),
                 inventory);
  const size_t rows = inventory.rows.size();
  add_run_counts(counted_between(one_host({{"rx_errors", 9}}), one_host({{"rx_errors", 10}})),
                 inventory);
  EXPECT_EQ(inventory.rows.size(), rows);
  EXPECT_EQ(row_of(inventory.rows, "NIC errors").measured, "eth0: rx_errors 3");
  EXPECT_EQ(inventory.outcome, StageOutcome::kPassed);
  add_run_counts(
      counted_between(one_host({{"carrier_changes", 0}}), one_host({{"carrier_changes", 1}})),
      inventory);
  EXPECT_EQ(inventory.outcome, StageOutcome::kFailed);
}

}  // namespace
}  // namespace heddle::acceptance
