// NIC rows: which NIC differs from those of its name.
#include "acceptance/nic_rows.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace heddle::acceptance {
namespace {

std::vector<MachineFacts> four_hosts() {
  std::vector<MachineFacts> machines(4);
  for (size_t i = 0; i < machines.size(); ++i) {
    machines[i].name = "h" + std::to_string(i);
    machines[i].nics = {{"eth0", true, 9000, 100e9, "gro on", true},
                        {"eth1", true, 9000, 100e9, "gro on", false}};
  }
  return machines;
}

std::set<std::string> warnings(const std::vector<MachineFacts>& machines) {
  std::set<std::string> found;
  for (const Row& row : nic_rows(machines)) {
    if (row.grade == Grade::kWarn) found.insert(row.check + " " + row.where + " " + row.measured);
  }
  return found;
}

using Warnings = std::set<std::string>;

TEST(NicRows, OfNicsThatAreAlikeThereIsOneRowACheck) {
  const std::vector<Row> rows = nic_rows(four_hosts());
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[1].check + " " + rows[1].where, "NIC MTU 4 of 4 NICs");
}

TEST(NicRows, TheNicThatDiffersFromThoseOfItsNameIsNamed) {
  std::vector<MachineFacts> machines = four_hosts();
  (*machines[1].nics)[1].mtu_bytes = 1500;
  (*machines[2].nics)[1].carrier = false;
  (*machines[2].nics)[1].rate_bits_per_s = 0;  // the driver knows none of a port that is down
  (*machines[3].nics)[1].rate_bits_per_s = 25e9;
  (*machines[3].nics)[1].offloads = "gro off";
  EXPECT_EQ(warnings(machines),
            (Warnings{"NIC MTU h1 eth1: 1500 bytes", "NIC state h2 eth1: down",
                      "NIC rate h3 eth1: 25.0 Gb/s", "NIC offloads h3 eth1: gro off"}));
}

// Of two hosts the one was named whose value is later in the alphabet.
TEST(NicRows, HalfOfTheHostsAreNotBlamedForTheOtherHalf) {
  std::vector<MachineFacts> machines = four_hosts();
  (*machines[1].nics)[1].mtu_bytes = (*machines[3].nics)[1].mtu_bytes = 1500;
  EXPECT_EQ(warnings(machines),
            Warnings{"NIC MTU h0, h1, h2, h3 eth1: 9000 bytes on h0, h2; 1500 bytes on h1, h3"});
  machines.resize(2);
  EXPECT_EQ(warnings(machines),
            Warnings{"NIC MTU h0, h1 eth1: 9000 bytes on h0; 1500 bytes on h1"});
  EXPECT_EQ(nic_rows(machines).size(), 4U) << "no MTU is as those of the same name";
}

TEST(NicRows, TheTestedNicHasRowsOfItsOwn) {
  std::vector<MachineFacts> machines = four_hosts();
  (*machines[1].nics)[0].mtu_bytes = 1500;
  EXPECT_EQ(warnings(machines), Warnings());
  machines.resize(2);
  EXPECT_EQ(warnings(machines), Warnings());
}

// A ring of another size was not seen; the tested NIC has no other row of it.
TEST(NicRows, SettingsOfTheDriverAreJudgedOfTheTestedNicToo) {
  std::vector<MachineFacts> machines = four_hosts();
  for (MachineFacts& machine : machines) {
    for (NicFacts& nic : *machine.nics) {
      nic.settings = {"rx 1024, tx 1024", "rx adaptive; tx adaptive",
                      "autonegotiate off, rx off, tx off", "combined 63, rx 0, tx 0",
                      "on: rx_cqe_moder"};
    }
  }
  EXPECT_EQ(warnings(machines), Warnings());
  EXPECT_EQ(nic_rows(machines).size(), 9U);
  (*machines[0].nics)[0].settings.rings = "";  // not known
  (*machines[1].nics)[0].settings.rings = "rx 256, tx 1024";
  (*machines[1].nics)[1].settings.coalescing = "rx 8 us, 128 frames; tx adaptive";
  (*machines[2].nics)[0].settings.pause = "autonegotiate off, rx on, tx on";
  (*machines[2].nics)[1].settings.channels = "combined 8, rx 0, tx 0";
  (*machines[3].nics)[0].settings.private_flags = "none is on";
  EXPECT_EQ(warnings(machines),
            (Warnings{"NIC rings h1 eth0: rx 256, tx 1024",
                      "NIC coalescing h1 eth1: rx 8 us, 128 frames; tx adaptive",
                      "NIC pause h2 eth0: autonegotiate off, rx on, tx on",
                      "NIC channels h2 eth1: combined 8, rx 0, tx 0",
                      "NIC private flags h3 eth0: none is on"}));
}

TEST(NicRows, AHostWithoutANicThatMostHaveIsNamed) {
  std::vector<MachineFacts> machines = four_hosts();
  machines[1].nics->pop_back();
  EXPECT_EQ(warnings(machines), Warnings{"NICs h1 no eth1"});
  machines[2].nics->pop_back();
  EXPECT_EQ(warnings(machines), Warnings()) << "half of the hosts are not most";
}

TEST(NicRows, AnOlderHeddleHasNoSay) {
  std::vector<MachineFacts> machines = four_hosts();
  machines[0].nics.reset();
  EXPECT_EQ(warnings(machines), Warnings());
  for (MachineFacts& machine : machines) machine.nics.reset();
  EXPECT_TRUE(nic_rows(machines).empty());
}

}  // namespace
}  // namespace heddle::acceptance
