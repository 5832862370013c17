// Machine rows: which hosts, NICs and GPUs are named.
#include "acceptance/machine_rows.h"

#include <gtest/gtest.h>

namespace heddle::acceptance {
namespace {

MachineFacts machine(const std::string& name, std::vector<PcieLink> links) {
  return {name, {}, std::move(links), ClockState{true, 1e-3}};
}

TEST(MachineRows, ANicBelowItsMaximumIsNamedAlsoWhereAllAreAlike) {
  const PcieLink narrow{"eth0", false, 8, 16, 32, 32, 16, 32};
  const auto rows = pcie_rows({machine("a", {narrow}), machine("b", {narrow})});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].where, "b");
  EXPECT_EQ(rows[1].grade, Grade::kWarn);
  EXPECT_EQ(rows[1].measured, "x8 at 32 GT/s of eth0");
  EXPECT_EQ(rows[1].expected, "x16 at 32 GT/s, its maximum");
  EXPECT_NE(rows[1].todo.find("reseat eth0 on b"), std::string::npos);
}

TEST(MachineRows, ANicThatTheTestDoesNotUseIsShownAndDoesNotWarn) {
  PcieLink narrow{"eth5", false, 8, 16, 32, 32, 16, 32};
  narrow.tested = false;
  const auto rows = pcie_rows({machine("a", {narrow, {"eth0", false, 16, 16, 32, 32, 16, 32}})});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].measured, "x8 at 32 GT/s of eth5, below its maximum of x16 at 32 GT/s");
  EXPECT_TRUE(is_information(rows[0])) << "it passed nothing";
  EXPECT_EQ(rows[1].where, "1 of 2 links");
}

TEST(MachineRows, ASlotThatHasLessIsSaidToBeTheCause) {
  const auto rows = pcie_rows({machine("a", {{"eth0", false, 8, 16, 16, 32, 8, 16}})});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NE(rows[0].todo.find("the port above it has x8 at 16 GT/s at most"), std::string::npos);
}

TEST(MachineRows, TheSpeedOfAnIdleGpuIsNotJudged) {
  const PcieLink idle{"GPU 0000:41:00.0", true, 16, 16, 2.5, 32, 16, 32};
  const auto fine = pcie_rows({machine("a", {idle})});
  ASSERT_EQ(fine.size(), 1U);
  EXPECT_EQ(fine[0].grade, Grade::kOk);
  PcieLink narrow = idle;
  narrow.width = 4;
  EXPECT_EQ(pcie_rows({machine("a", {narrow})}).front().measured, "x4 of GPU 0000:41:00.0");
  EXPECT_TRUE(pcie_rows({machine("a", {})}).empty());
}

// Where the bridges of all hosts redirected, the row of their facts passed: they are alike.
TEST(MachineRows, ARedirectionAboveGpusIsNamedAlsoWhereAllAreAlike) {
  std::vector<MachineFacts> machines(4);
  for (const size_t i : {0, 1, 2, 3}) machines[i].name = "h" + std::to_string(i);
  machines[0].acs = machines[1].acs = AcsBridges{4, 2, true};
  machines[2].acs = AcsBridges{4, 2, false};
  EXPECT_EQ(acs_rows({machines[2], machines[3]}).size(), 0U) << "without GPUs, and not known";
  const auto rows = acs_rows(machines);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].where + ": " + rows[0].measured,
            "h0: 2 of 4 bridges redirect: traffic between GPUs and NICs goes through the root "
            "complex");
  EXPECT_EQ(rows[1].where, "h1");
  EXPECT_EQ(rows[1].grade, Grade::kWarn);
  EXPECT_NE(rows[1].todo.find("in the firmware setup of h1"), std::string::npos);
  EXPECT_NE(rows[1].todo.find("setpci -s BRIDGE ECAP_ACS+6.w=0"), std::string::npos);
  machines[0].acs = machines[1].acs = AcsBridges{4, 0, true};
  EXPECT_TRUE(acs_rows(machines).empty());
}

TEST(MachineRows, AClockThatNothingSetsIsNamed) {
  std::vector<MachineFacts> machines = {machine("a", {}), machine("b", {}), machine("c", {}),
                                        machine("d", {})};
  machines[1].clock->synchronized = false;
  machines[2].clock->error_s = 0.5;
  machines[3].clock.reset();
  const auto rows = clock_rows(machines);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].where + ": " + rows[0].measured, "b: no program sets it");
  EXPECT_EQ(rows[1].where + ": " + rows[1].measured, "c: set by a program, off by about 500 ms");
  EXPECT_EQ(rows[2].where, "1 of 3 hosts");
  EXPECT_EQ(rows[2].measured, "set by a program, off by about 1.00 ms");
}

TEST(MachineRows, AFirewallThatMayDropIsNamed) {
  std::vector<PlaceFacts> places(3);
  places[0].name = "a";
  places[0].firewall = Firewall{};
  places[1].name = "b";
  places[1].firewall = Firewall{.dropping = {"input"}};
  const auto rows = firewall_rows(places);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].where, "b");
  EXPECT_EQ(rows[0].grade, Grade::kWarn);
}

TEST(MachineRows, FactsThatAllHostsShareAreGradedOk) {
  MachineFacts shared = machine("this machine", {{"eth0", false, 8, 16, 32, 32, 16, 32}});
  shared.facts = {{"GPUs", "none"}};
  for (const Row& row : shared_rows(shared)) {
    EXPECT_EQ(row.where, "this machine");
    EXPECT_EQ(row.grade, Grade::kOk);
  }
  EXPECT_EQ(shared_rows(shared).size(), 2U);
}

}  // namespace
}  // namespace heddle::acceptance
