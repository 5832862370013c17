// RdmaDevices: this host's RDMA devices as plain data, and which device, port and GID a verbs
// endpoint takes. Reading (a sysfs tree) and choosing (a pure function) are apart, so that tests
// state odd machines as data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle::datapath {

// An entry of a port's GID table that is not zero.
struct RdmaGid {
  uint32_t index = 0;
  std::array<uint8_t, 16> address{};  // IPv6, or IPv4 as ::ffff:a.b.c.d
  bool roce_v2 = false;               // false: InfiniBand or RoCE version 1
  std::string interface;              // the network interface that it belongs to; empty: none
};

struct RdmaPort {
  uint32_t number = 1;
  std::string state;  // "ACTIVE", "DOWN", "INIT", "ARMED"
  bool ethernet = false;
  std::string rate;  // "100 Gb/sec (4X EDR)", as the driver reports it
  std::vector<RdmaGid> gids;
};

// Of the device's node below /dev/infiniband.
enum class NodeState : uint8_t { kUsable, kMissing, kForbidden };

struct RdmaDevice {
  std::string name;  // "mlx5_0"
  std::string node;  // "/dev/infiniband/uverbs0"; empty: the verbs driver has none for it
  NodeState node_state = NodeState::kMissing;
  std::vector<RdmaPort> ports;
  bool software = false;  // the host's cores do the NIC's work (soft-RoCE): no bus device
};

struct RdmaFacts {
  std::vector<RdmaDevice> devices;             // by name
  std::map<std::string, std::string> masters;  // of interfaces that belong to a bond: the bond
};

// Reads class/infiniband, class/infiniband_verbs and class/net below `sysfs`, and tests nodes below
// `dev`. What is missing is left out.
RdmaFacts read_rdma_facts(const std::string& sysfs = "/sys", const std::string& dev = "/dev");

// What an endpoint is bound to; both empty: anything.
struct RdmaBinding {
  std::optional<std::array<uint8_t, 16>> address;  // local, IPv4 as ::ffff:a.b.c.d
  std::string interface;
};

struct RdmaChoice {
  std::string device;
  uint32_t port = 1;
  RdmaGid gid;
  bool software = false;  // as RdmaDevice::software
};

// What is said of one port: the choice that it offers, or why it offers none.
struct RdmaVerdict {
  std::string device;
  uint32_t port = 1;
  std::optional<RdmaChoice> choice;
  std::string reason;  // why this GID; why none
  std::string todo;    // without a choice: what a user can do
};

// Of every port, in the order of the facts. A port offers a choice if it is active, Ethernet, its
// node can be opened, and it has a RoCE version 2 GID of the binding: the bound address, else of
// the bound interface (or its bond) an IPv4 address before an IPv6 one; link-local ones never.
std::vector<RdmaVerdict> judge_rdma_ports(const RdmaFacts& facts, const RdmaBinding& binding);

// The first choice. Errors: kUnavailable, with the reasons of all ports.
Result<RdmaChoice> choose_rdma_port(const RdmaFacts& facts, const RdmaBinding& binding);

// "10.0.0.1", "fd00::1".
std::string rdma_address_text(const std::array<uint8_t, 16>& address);
// The inverse, without scope. Errors: kInvalid.
Result<std::array<uint8_t, 16>> parse_rdma_address(const std::string& text);

}  // namespace heddle::datapath
