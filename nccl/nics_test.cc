// Tests of NICs as NCCL's devices, on odd machines as data.

#include "nccl/nics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "nccl/testing/machine.h"

namespace heddle::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NicsTest : public testing::Test {
 protected:
  // What list_nics() has, by name.
  std::map<std::string, Nic> listed() {
    std::map<std::string, Nic> by_name;
    const auto nics = list_nics(machine_.sources);
    EXPECT_TRUE(nics) << nics.error().message();
    for (const Nic& nic : nics.value_or(std::vector<Nic>{})) by_name[nic.name] = nic;
    return by_name;
  }

  std::vector<std::string> found(const std::string& selection = "") {
    machine_.sources.selection = selection;
    std::vector<std::string> names;
    const auto nics = find_nics(machine_.sources);
    for (const Nic& nic : nics.value_or(std::vector<Nic>{})) names.push_back(nic.name);
    return names;
  }

  Machine machine_{testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(NicsTest, ReadsAPhysicalNic) {
  machine_.add("eth0", "10.0.0.1").mtu_bytes = 9000;
  machine_.set_device("eth0", "pci0000:3a/0000:3a:00.0/0000:3b:00.0");
  machine_.write("devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/numa_node", "1");
  machine_.write("devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/infiniband/mlx5_0/node_type", "1");
  machine_.link("devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/driver", "bus/pci/drivers/mlx5_core");
  machine_.write("bus/pci/drivers/mlx5_core/uevent", "");
  machine_.set("eth0", "speed", "100000");
  const Nic nic = listed().at("eth0");
  EXPECT_EQ(nic.index, 1u);
  EXPECT_EQ(nic.mtu_bytes, 9000u);
  EXPECT_EQ(nic.speed_mbits, 100'000);
  EXPECT_TRUE(nic.speed_known);
  EXPECT_EQ(nic.pci_path, machine_.device_path("pci0000:3a/0000:3a:00.0/0000:3b:00.0"));
  EXPECT_EQ(nic.numa_node, 1);
  EXPECT_EQ(nic.driver, "mlx5_core");
  EXPECT_EQ(nic.kind, "physical");
  EXPECT_TRUE(nic.rdma);
  EXPECT_TRUE(nic.carrier);
  EXPECT_EQ(nic.port, 1);
  EXPECT_EQ(nic.rail, -1);
  EXPECT_EQ(nic.plane, -1);
  EXPECT_EQ(nic_text(nic), "eth0 10.0.0.1, 100000 Mb/s, MTU 9000, 0000:3b:00.0");
}

TEST_F(NicsTest, UnknownSpeedsAreAssumed) {
  machine_.add("down0", "10.0.0.1");
  machine_.set_device("down0", "pci0000:00/0000:00:03.0");
  machine_.set("down0", "speed", "-1");
  machine_.add("code0", "10.0.1.1");
  machine_.set_device("code0", "pci0000:00/0000:00:04.0");
  machine_.set("code0", "speed", "2147483647");
  machine_.add("veth0", "10.0.2.1");
  machine_.set("veth0", "speed", "40000");  // an arbitrary one of its driver
  machine_.add("silent0", "10.0.3.1");
  for (const auto& [name, nic] : listed()) {
    EXPECT_EQ(nic.speed_mbits, 10'000) << name;
    EXPECT_FALSE(nic.speed_known) << name;
    EXPECT_THAT(nic_text(nic), HasSubstr("10000 Mb/s (assumed)"));
  }
}

TEST_F(NicsTest, PortsOfOneChipShareTheGuidAndCountPorts) {
  machine_.add("eth1", "10.0.1.1");
  machine_.set_device("eth1", "pci0000:00/0000:3b:00.1");
  machine_.add("eth0", "10.0.0.1");
  machine_.set_device("eth0", "pci0000:00/0000:3b:00.0");
  machine_.add("eth2", "10.0.2.1");
  machine_.set_device("eth2", "pci0000:00/0000:5e:00.0");
  const auto nics = listed();
  EXPECT_EQ(nics.at("eth0").guid, nics.at("eth1").guid);
  EXPECT_NE(nics.at("eth0").guid, nics.at("eth2").guid);
  EXPECT_EQ(nics.at("eth0").port, 1);
  EXPECT_EQ(nics.at("eth1").port, 2);
  EXPECT_EQ(nics.at("eth2").port, 1);
}

TEST_F(NicsTest, OneFunctionMayHaveTwoPorts) {
  for (const char* name : {"eth0", "eth1"}) {
    machine_.add(name, "10.0.0.1");
    machine_.set_device(name, "pci0000:00/0000:3b:00.0");
  }
  machine_.set("eth0", "dev_port", "0");
  machine_.set("eth1", "dev_port", "1");
  const auto nics = listed();
  EXPECT_EQ(nics.at("eth0").guid, nics.at("eth1").guid);
  EXPECT_EQ(nics.at("eth0").port, 1);
  EXPECT_EQ(nics.at("eth1").port, 2);
}

TEST_F(NicsTest, HostsWithTheSamePciAddressesDifferInGuid) {
  machine_.add("eth0", "10.0.0.1");
  machine_.set_device("eth0", "pci0000:00/0000:3b:00.0");
  const uint64_t first = listed().at("eth0").guid;
  machine_.set("eth0", "address", "02:aa:00:00:00:01");
  EXPECT_NE(listed().at("eth0").guid, first);
}

TEST_F(NicsTest, ABondStandsAtItsFirstSlave) {
  machine_.add("eth0", "");
  machine_.set_device("eth0", "pci0000:00/0000:3b:00.0");
  machine_.add("eth1", "");
  machine_.set_device("eth1", "pci0000:00/0000:3b:00.1");
  machine_.set("eth1", "speed", "25000");
  machine_.add("bond0", "10.0.0.1");
  machine_.set("bond0", "bonding/slaves", "eth1 eth0");
  machine_.set_lower("bond0", "eth0");
  machine_.set_lower("bond0", "eth1");
  const Nic bond = listed().at("bond0");
  EXPECT_EQ(bond.kind, "bond");
  EXPECT_THAT(bond.lower, ElementsAre("eth1", "eth0"));
  EXPECT_EQ(bond.pci_path, machine_.device_path("pci0000:00/0000:3b:00.1"));
  EXPECT_EQ(bond.port, 2);
  EXPECT_EQ(bond.speed_mbits, 25'000);
  machine_.set("bond0", "speed", "50000");
  EXPECT_EQ(listed().at("bond0").speed_mbits, 50'000);
  EXPECT_THAT(found(), ElementsAre("bond0"));
}

TEST_F(NicsTest, VlansOfOnePortShareGuidAndPort) {
  machine_.add("eth0", "");
  machine_.set_device("eth0", "pci0000:00/0000:3b:00.1");
  machine_.set("eth0", "speed", "100000");
  for (const char* name : {"eth0.100", "eth0.200"}) {
    machine_.add(name, "10.0.0.1");
    machine_.set(name, "uevent", "DEVTYPE=vlan\nINTERFACE=x");
    machine_.set_lower(name, "eth0");
  }
  const auto nics = listed();
  const Nic& vlan = nics.at("eth0.100");
  EXPECT_EQ(vlan.kind, "vlan");
  EXPECT_EQ(vlan.pci_path, machine_.device_path("pci0000:00/0000:3b:00.1"));
  EXPECT_EQ(vlan.speed_mbits, 100'000);
  EXPECT_EQ(vlan.guid, nics.at("eth0.200").guid);
  EXPECT_EQ(vlan.port, nics.at("eth0.200").port);
}

TEST_F(NicsTest, AVlanOverABondOverTwoNics) {
  machine_.add("eth0", "");
  machine_.set_device("eth0", "pci0000:00/0000:3b:00.0");
  machine_.add("bond0", "");
  machine_.set("bond0", "bonding/slaves", "eth0");
  machine_.add("bond0.7", "10.0.0.1");
  machine_.set("bond0.7", "uevent", "DEVTYPE=vlan");
  machine_.set_lower("bond0.7", "bond0");
  EXPECT_EQ(listed().at("bond0.7").pci_path, machine_.device_path("pci0000:00/0000:3b:00.0"));
}

TEST_F(NicsTest, ABridgeStandsAtTheNicBelowItAndNotAtItsVirtualCables) {
  machine_.add("eth0", "");
  machine_.set_device("eth0", "pci0000:00/0000:3b:00.0");
  machine_.add("aveth1", "");
  machine_.add("br0", "10.0.0.1");
  machine_.set("br0", "uevent", "DEVTYPE=bridge");
  machine_.set_lower("br0", "aveth1");
  machine_.set_lower("br0", "eth0");
  const Nic bridge = listed().at("br0");
  EXPECT_EQ(bridge.kind, "bridge");
  EXPECT_EQ(bridge.pci_path, machine_.device_path("pci0000:00/0000:3b:00.0"));
}

// NCCL takes the path's last part for a PCI address: what a driver adds below must go.
TEST_F(NicsTest, VirtioAndUsbNicsStandAtTheirPciFunction) {
  machine_.add("eth0", "10.0.0.1");
  machine_.set_device("eth0", "pci0000:00/0000:00:03.0/virtio2");
  machine_.add("usb0", "10.0.1.1");
  machine_.set_device("usb0", "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0");
  machine_.add("sf0", "10.0.2.1");
  machine_.set_device("sf0", "pci0000:00/0000:08:00.0/mlx5_core.sf.4");
  const auto nics = listed();
  EXPECT_EQ(nics.at("eth0").pci_path, machine_.device_path("pci0000:00/0000:00:03.0"));
  EXPECT_EQ(nics.at("usb0").pci_path, machine_.device_path("pci0000:00/0000:00:14.0"));
  EXPECT_EQ(nics.at("sf0").pci_path, machine_.device_path("pci0000:00/0000:08:00.0"));
}

// Azure: the address is at a vmbus device, the NIC below it has a PCI domain of five digits.
TEST_F(NicsTest, AVirtualMachinesSlaveGivesThePciPath) {
  machine_.add("eth0", "10.0.0.1");
  machine_.set_device("eth0", "LNXSYSTM:00/VMBUS:01/000d3a11-aaaa");
  machine_.add("enP53091s1", "");
  machine_.set_device("enP53091s1", "LNXSYSTM:00/pcicf63:00/cf63:00:02.0");
  machine_.set_lower("eth0", "enP53091s1");
  EXPECT_EQ(listed().at("eth0").pci_path,
            machine_.device_path("LNXSYSTM:00/pcicf63:00/cf63:00:02.0"));
}

TEST_F(NicsTest, AVirtualFunctionBelongsToThePhysicalFunctionsChip) {
  machine_.add("eth0", "10.0.0.1");
  machine_.set_device("eth0", "pci0000:00/0000:3b:00.0");
  machine_.add("eth0v0", "10.0.1.1");
  machine_.set_device("eth0v0", "pci0000:00/0000:3b:02.3");
  machine_.link("devices/pci0000:00/0000:3b:02.3/physfn", "devices/pci0000:00/0000:3b:00.0");
  const auto nics = listed();
  EXPECT_EQ(nics.at("eth0").guid, nics.at("eth0v0").guid);
  EXPECT_NE(nics.at("eth0").port, nics.at("eth0v0").port);
}

TEST_F(NicsTest, WithoutSysfsTheAddressesSuffice) {
  machine_.add_hidden("eth0", "10.0.0.1");
  machine_.add_hidden("eth1", "10.0.1.1");
  const auto nics = listed();
  EXPECT_EQ(nics.at("eth0").mtu_bytes, 1500u);
  EXPECT_EQ(nics.at("eth0").kind, "virtual");
  EXPECT_EQ(nics.at("eth0").pci_path, "");
  EXPECT_NE(nics.at("eth0").guid, nics.at("eth1").guid);
  EXPECT_NE(nics.at("eth0").guid, 0u);
  EXPECT_THAT(found(), ElementsAre("eth0", "eth1"));
}

TEST_F(NicsTest, SysfsOfAnotherNamespaceIsNotBelieved) {
  machine_.add("eth0", "10.0.0.1");
  machine_.set_device("eth0", "pci0000:00/0000:3b:00.0");
  machine_.set("eth0", "speed", "100000");
  machine_.set("eth0", "ifindex", "17");
  const Nic nic = listed().at("eth0");
  EXPECT_EQ(nic.pci_path, "");
  EXPECT_FALSE(nic.speed_known);
}

TEST_F(NicsTest, InterfacesInACircleEnd) {
  machine_.add("a", "10.0.0.1");
  machine_.add("b", "10.0.1.1");
  machine_.set("a", "uevent", "DEVTYPE=vlan");
  machine_.set("b", "uevent", "DEVTYPE=vlan");
  machine_.set_lower("a", "b");
  machine_.set_lower("b", "a");
  EXPECT_EQ(listed().at("a").pci_path, "");
}

class SelectionTest : public NicsTest {
 protected:
  void SetUp() override {
    machine_.add("lo", "127.0.0.1");
    machine_.add("eth0", "10.0.0.1");
    machine_.add("eth1", "10.0.1.1");
    machine_.add("eth10", "10.0.2.1");
    machine_.add("docker0", "172.17.0.1");
    machine_.add("virbr0", "192.168.122.1");
    machine_.add("eth2", "");                          // no address
    machine_.add("eth3", "fe80::1");                   // none beyond its link
    machine_.add("eth4", "10.0.4.1").running = false;  // no cable
    machine_.add("eth5", "10.0.5.1").up = false;
  }
};

TEST_F(SelectionTest, DefaultTakesWhatReachesOtherHosts) {
  EXPECT_THAT(found(), ElementsAre("eth0", "eth1", "eth10"));
}

TEST_F(SelectionTest, Grammar) {
  EXPECT_THAT(found("eth1"), ElementsAre("eth1", "eth10"));
  EXPECT_THAT(found("=eth1"), ElementsAre("eth1"));
  EXPECT_THAT(found("=eth1,eth0"), ElementsAre("eth0", "eth1"));
  EXPECT_THAT(found("docker,eth0"), ElementsAre("eth0", "docker0"));
  EXPECT_THAT(found("lo"), ElementsAre("lo"));
  EXPECT_THAT(found("^eth1"), ElementsAre("eth0", "docker0", "virbr0"));
  EXPECT_THAT(found("^=eth1,docker0,virbr0"), ElementsAre("eth0", "eth10"));
  EXPECT_THAT(found("^eth,docker,virbr"), ElementsAre("lo"));
  EXPECT_THAT(found("=eth0:1:2:3"), ElementsAre("eth0"));
  EXPECT_THAT(found("eth4"), IsEmpty());
}

TEST_F(SelectionTest, ASelectionThatMatchesNothingIsNamed) {
  machine_.sources.selection = "ib";
  const auto nics = find_nics(machine_.sources);
  ASSERT_FALSE(nics);
  EXPECT_EQ(nics.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(nics.error().message(), HasSubstr("HEDDLE_IFNAME=ib"));
}

TEST_F(NicsTest, LoopbackOnlyWhereNothingElseIs) {
  machine_.add("lo", "127.0.0.1");
  EXPECT_THAT(found(), ElementsAre("lo"));
  machine_.add("docker0", "172.17.0.1");
  EXPECT_THAT(found(), ElementsAre("docker0"));
}

TEST_F(NicsTest, ASelectionHasNoEmptyName) {
  machine_.add("eth0", "10.0.0.1");
  for (const char* each : {"^", "=", ",", "eth0,", ",eth0", "=eth0,,eth1", ":0"}) {
    machine_.sources.selection = each;
    const auto nics = find_nics(machine_.sources);
    ASSERT_FALSE(nics) << each;
    EXPECT_EQ(nics.error().code, ErrorCode::kInvalid) << each;
  }
  for (const char* each : {"", "eth0", "=eth0,eth1", "^ib,docker", "eth0:1"}) {
    EXPECT_TRUE(check_selection(each)) << each;
  }
}

class OverridesTest : public NicsTest {
 protected:
  void write(const std::string& text) {
    machine_.write("nics.toml", text);
    machine_.sources.file = machine_.sources.sysfs + "/nics.toml";
  }
  std::string error(const std::string& text) {
    write(text);
    const auto nics = list_nics(machine_.sources);
    return nics ? "no error" : nics.error().message();
  }
};

TEST_F(OverridesTest, TheFileGivesRailsAndCorrections) {
  machine_.add("eth0", "10.0.0.1");
  machine_.add("eth1", "10.0.1.1");
  write(R"([[nic]]
name = "eth1"
rail = 3
plane = 1
port = 2
speed_mbits = 400000
latency_us = 1.5
[[nic]]
name = "eth7"
rail = 0)");
  const auto nics = listed();
  const Nic& changed = nics.at("eth1");
  EXPECT_EQ(changed.rail, 3);
  EXPECT_EQ(changed.plane, 1);
  EXPECT_EQ(changed.port, 2);
  EXPECT_EQ(changed.speed_mbits, 400'000);
  EXPECT_TRUE(changed.speed_known);
  EXPECT_DOUBLE_EQ(changed.latency_us, 1.5);
  EXPECT_THAT(nic_text(changed), HasSubstr("rail 3, plane 1"));
  EXPECT_TRUE(changed.described);
  EXPECT_EQ(nics.at("eth0").rail, -1);
  EXPECT_FALSE(nics.at("eth0").described);
  EXPECT_EQ(nics.count("eth7"), 0u);
}

TEST_F(OverridesTest, ErrorsNameTheLine) {
  const std::string head = "[[nic]]\nname = \"eth0\"\n";
  EXPECT_THAT(error(head + "rails = 1"), HasSubstr("nics.toml:3: unknown key 'rails'"));
  EXPECT_THAT(error("[nics]\na = 1"), HasSubstr("unknown key 'nics'"));
  EXPECT_THAT(error("nic = 1"), HasSubstr("nics.toml:1"));
  EXPECT_THAT(error(head + "rail = \"a\""), HasSubstr("nics.toml:3: 'rail' is not a whole number"));
  EXPECT_THAT(error(head + "rail = 40000"), HasSubstr("not between 0 and 32767"));
  EXPECT_THAT(error(head + "latency_us = -1"), HasSubstr("not between 0"));
  EXPECT_THAT(error(head + "latency_us = nan"), HasSubstr("not between 0"));
  EXPECT_THAT(error(head + "speed_mbits = 0"), HasSubstr("not between 1"));
  EXPECT_THAT(error("[[nic]]\nrail = 1"), HasSubstr("has no 'name'"));
  EXPECT_THAT(error(head + head), HasSubstr("nics.toml:3: 'eth0' is in line 1, too"));
  EXPECT_THAT(error("[[nic"), HasSubstr("nics.toml:1"));
  machine_.sources.file = "/no/such/file.toml";
  const auto nics = list_nics(machine_.sources);
  ASSERT_FALSE(nics);
  EXPECT_EQ(nics.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace heddle::nccl
