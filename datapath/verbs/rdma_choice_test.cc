// Tests of choosing a port and a GID, on odd machines as data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "datapath/rdma_devices.h"
#include "datapath/rdma_doctor.h"

namespace heddle::datapath {
namespace {

using testing::HasSubstr;

RdmaGid gid_of(uint32_t index, const std::string& address, bool roce_v2 = true,
               const std::string& interface = "eth0") {
  return {index, *parse_rdma_address(address), roce_v2, interface};
}

RdmaPort port_of(std::vector<RdmaGid> gids, uint32_t number = 1) {
  return {number, "ACTIVE", true, "100 Gb/sec (4X EDR)", std::move(gids)};
}

RdmaDevice device_of(const std::string& name, std::vector<RdmaPort> ports) {
  return {name, "/dev/infiniband/uverbs0", NodeState::kUsable, std::move(ports)};
}

RdmaFacts facts_of(std::vector<RdmaDevice> devices) { return {std::move(devices), {}}; }

RdmaBinding bound_to(const std::string& what) {
  RdmaBinding binding;
  if (const auto address = parse_rdma_address(what)) {
    binding.address = *address;
  } else {
    binding.interface = what;
  }
  return binding;
}

// A machine, what heddle is bound to, and what comes of it: "device port GID-index" with a part of
// the reason, or of the reason for none.
struct Case {
  const char* name;
  RdmaFacts facts;
  const char* bind;
  const char* choice;  // empty: none
  const char* reason;
};

std::vector<Case> cases() {
  RdmaDevice down = device_of("mlx5_0", {port_of({gid_of(3, "10.0.0.1")})});
  down.ports[0].state = "DOWN";
  RdmaDevice infiniband = down;
  infiniband.ports[0].ethernet = false;
  infiniband.ports[0].state = "ACTIVE";
  RdmaDevice no_node = device_of("mlx5_0", {port_of({gid_of(3, "10.0.0.1")})});
  no_node.node_state = NodeState::kMissing;
  RdmaDevice no_driver = no_node;
  no_driver.node.clear();
  RdmaDevice forbidden = no_node;
  forbidden.node_state = NodeState::kForbidden;
  RdmaDevice second = device_of("mlx5_1", {port_of({gid_of(1, "10.0.1.1", true, "eth1")})});
  const RdmaDevice plain =
      device_of("mlx5_0", {port_of({gid_of(0, "fe80::1", false), gid_of(1, "fe80::1"),
                                    gid_of(2, "10.0.0.1", false), gid_of(3, "10.0.0.1")})});
  RdmaFacts bond =
      facts_of({device_of("mlx5_bond_0", {port_of({gid_of(0, "fe80::1", true, "bond0"),
                                                   gid_of(1, "10.0.0.1", true, "bond0"),
                                                   gid_of(2, "10.7.0.1", true, "bond0.7")})})});
  bond.masters = {{"eth0", "bond0"}, {"eth1", "bond0"}};
  return {
      {"version 1 comes first in the table", facts_of({plain}), "", "mlx5_0 1 3",
       "the first IPv4 address of RoCE version 2"},
      {"bound to its address", facts_of({plain}), "10.0.0.1", "mlx5_0 1 3",
       "it is the bound address"},
      {"IPv6 only",
       facts_of({device_of("mlx5_0", {port_of({gid_of(0, "fe80::1"), gid_of(1, "fd00::1")})})}), "",
       "mlx5_0 1 1", "there is no IPv4 one"},
      {"IPv4 before IPv6",
       facts_of({device_of("mlx5_0", {port_of({gid_of(0, "fd00::1"), gid_of(1, "10.0.0.1")})})}),
       "eth0", "mlx5_0 1 1", "of the bound interface eth0"},
      {"bound to IPv6 where there is IPv4",
       facts_of({device_of("mlx5_0", {port_of({gid_of(0, "10.0.0.1"), gid_of(1, "fd00::1")})})}),
       "fd00::1", "mlx5_0 1 1", "it is the bound address"},
      {"only link-local", facts_of({device_of("mlx5_0", {port_of({gid_of(0, "fe80::1")})})}), "",
       "", "its only GIDs of RoCE version 2 are link-local"},
      {"only version 1", facts_of({device_of("mlx5_0", {port_of({gid_of(0, "10.0.0.1", false)})})}),
       "", "", "it has only GIDs of RoCE version 1"},
      {"address has version 1 only",
       facts_of(
           {device_of("mlx5_0", {port_of({gid_of(0, "10.0.0.1", false), gid_of(1, "10.0.0.2")})})}),
       "10.0.0.1", "", "10.0.0.1 is there for RoCE version 1 only"},
      {"empty table", facts_of({device_of("mlx5_0", {port_of({})})}), "", "",
       "its GID table is empty"},
      {"port down", facts_of({down}), "", "", "the port is DOWN"},
      {"first port down, second up", facts_of({down, second}), "", "mlx5_1 1 1", "IPv4"},
      {"InfiniBand", facts_of({infiniband}), "", "", "its link layer is InfiniBand"},
      {"no node", facts_of({no_node}), "", "", "/dev/infiniband/uverbs0 is missing"},
      {"no verbs driver", facts_of({no_driver}), "", "", "the kernel has no verbs node"},
      {"no permission", facts_of({forbidden}), "", "", "this user may not open"},
      {"several ports of a device",
       facts_of({device_of("mlx4_0", {port_of({gid_of(0, "10.0.0.1")}),
                                      port_of({gid_of(0, "10.0.1.1", true, "eth1")}, 2)})}),
       "10.0.1.1", "mlx4_0 2 0", "it is the bound address"},
      {"several devices, bound to an interface", facts_of({plain, second}), "eth1", "mlx5_1 1 1",
       "of the bound interface eth1"},
      {"GID of another interface", facts_of({second}), "eth0", "",
       "its GIDs belong to eth1, not to eth0"},
      {"address of no RDMA device", facts_of({plain}), "10.9.9.9", "", "no GID is 10.9.9.9"},
      {"bond", bond, "bond0", "mlx5_bond_0 1 1", "of the bound interface bond0"},
      {"interface of a bond", bond, "eth1", "mlx5_bond_0 1 1", "of bond0, the bond of eth1"},
      {"VLAN over a bond", bond, "10.7.0.1", "mlx5_bond_0 1 2", "it is the bound address"},
      {"no devices", {}, "", "", "this host has no RDMA devices"},
  };
}

TEST(RdmaChoice, OddMachines) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    const RdmaBinding binding = bound_to(each.bind);
    const auto choice = choose_rdma_port(each.facts, binding);
    const std::string text = choice ? choice->device + " " + std::to_string(choice->port) + " " +
                                          std::to_string(choice->gid.index)
                                    : "";
    EXPECT_EQ(text, each.choice);
    if (!choice) {
      EXPECT_THAT(choice.error().message(), HasSubstr(each.reason));
      continue;
    }
    for (const RdmaVerdict& verdict : judge_rdma_ports(each.facts, binding)) {
      if (verdict.device != choice->device || verdict.port != choice->port) continue;
      EXPECT_THAT(verdict.reason, HasSubstr(each.reason));
    }
  }
}

TEST(RdmaChoice, EveryRefusalSaysWhatToDo) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.name);
    for (const RdmaVerdict& verdict : judge_rdma_ports(each.facts, bound_to(each.bind))) {
      EXPECT_EQ(verdict.todo.empty(), verdict.choice.has_value());
      EXPECT_FALSE(verdict.reason.empty());
    }
  }
}

TEST(RdmaChoice, AddressesAreReadAndWritten) {
  for (const char* const text : {"10.0.0.1", "fd00::1", "fe80::1"}) {
    EXPECT_EQ(rdma_address_text(*parse_rdma_address(text)), text);
  }
  EXPECT_FALSE(parse_rdma_address("eth0"));
  EXPECT_FALSE(parse_rdma_address(""));
}

class RdmaDoctorTest : public testing::Test {
 protected:
  RdmaDoctorTest() {
    host_.devices = facts_of({device_of("mlx5_0", {port_of({gid_of(3, "10.0.0.1")})})});
    HostInterface interface;
    interface.name = "eth0";
    interface.mtu_bytes = 9000;
    host_.interfaces = {interface};
    host_.library = true;
    host_.providers = 12;
    host_.memlock_bytes = -1;
  }
  // The finding of a topic; of several, the last one.
  Finding about(const std::string& topic) const {
    Finding found;
    found.what = "nothing about " + topic;
    for (const Finding& each : examine_rdma(host_)) {
      if (each.topic == topic) found = each;
    }
    return found;
  }
  RdmaHost host_;
};

TEST_F(RdmaDoctorTest, GoodMachine) {
  for (const Finding& each : examine_rdma(host_)) EXPECT_EQ(each.grade, Grade::kOk) << each.what;
  EXPECT_EQ(about("port").what,
            "mlx5_0 port 1 is used: GID 3, 10.0.0.1 of eth0, the first IPv4 address of RoCE "
            "version 2");
}

TEST_F(RdmaDoctorTest, UnusedPortIsAWarningBesideOneThatIsUsed) {
  host_.devices.devices.push_back(device_of("mlx5_1", {port_of({})}));
  EXPECT_EQ(about("port").grade, Grade::kWarn);
  EXPECT_FALSE(any_failed(examine_rdma(host_)));
  host_.devices.devices.erase(host_.devices.devices.begin());
  EXPECT_EQ(about("port").grade, Grade::kFail);
}

TEST_F(RdmaDoctorTest, SecondUsablePortIsNamed) {
  host_.devices.devices.push_back(
      device_of("mlx5_1", {port_of({gid_of(0, "10.0.1.1", true, "eth1")})}));
  EXPECT_THAT(about("port").what, HasSubstr("mlx5_1 port 1 could be used, too"));
}

TEST_F(RdmaDoctorTest, BindingThatFitsNoPort) {
  host_.binding.interface = "eth7";
  EXPECT_EQ(about("binding").grade, Grade::kFail);
}

TEST_F(RdmaDoctorTest, LibraryAndItsDrivers) {
  host_.providers = 0;
  EXPECT_THAT(about("library").todo, HasSubstr("ibverbs-providers"));
  host_.library = false;
  EXPECT_EQ(about("library").grade, Grade::kFail);
  EXPECT_THAT(about("library").todo, HasSubstr("libibverbs1"));
}

TEST_F(RdmaDoctorTest, SmallMtuAndLittleLockedMemoryAreWarnings) {
  host_.interfaces[0].mtu_bytes = 1500;
  EXPECT_EQ(about("mtu").grade, Grade::kWarn);
  host_.memlock_bytes = 8 << 20;
  EXPECT_THAT(about("memlock").what, HasSubstr("8192 KiB"));
  EXPECT_EQ(about("memlock").grade, Grade::kWarn);
  host_.may_lock = true;
  EXPECT_EQ(about("memlock").grade, Grade::kOk);
}

TEST_F(RdmaDoctorTest, HostWithoutDevicesIsSentToTheVirtualMachine) {
  host_.devices = {};
  EXPECT_EQ(about("device").grade, Grade::kFail);
  EXPECT_THAT(about("device").todo, HasSubstr("heddle lab vm"));
}

}  // namespace
}  // namespace heddle::datapath
