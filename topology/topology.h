// Topology: hosts, their NICs, switches and links as plain data. Input of the simulator, the lab
// and the planner. generators.h makes common ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "base/result.h"
#include "base/units.h"
#include "topology/faults.h"
#include "topology/switch_shape.h"

namespace heddle::topology {

enum class NodeKind : uint8_t { kNic, kSwitch };

struct Node {
  NodeKind kind = NodeKind::kNic;
  uint32_t index = 0;

  bool operator==(const Node&) const = default;
};

struct Host {
  std::string name;
};

// A host's NICs are numbered from 0, in the order of `Topology::nics`.
struct Nic {
  uint32_t host = 0;
};

struct Switch {
  std::string name;
  uint64_t hash_seed = 0;  // for the ECMP hash; equal seeds in two tiers polarize the second
  SwitchShape shape;
};

// The behavior of one direction of a link without faults.
struct LinkShape {
  BitsPerSec rate = gigabits_per_s(100);
  Nanos delay = micros(1);             // propagation
  Bytes queue = mebibytes(1);          // before the link; packets that do not fit are dropped
  Bytes ecn_threshold = {UINT64_MAX};  // ECN-capable packets that find more are marked; 0: all are
  uint32_t mtu_bytes = 9000;           // the largest IP packet
  // RED's ramp: of ECN-capable packets that find up to `ecn_ramp` more than the threshold, the
  // marked share rises from zero to this value; above, all are marked. `ecn_ramp` zero: no ramp.
  uint32_t ecn_ramp_per_million = 0;
  Bytes ecn_ramp;
};

// A cable: both directions have the same shape; faults may differ.
struct Link {
  Node a;
  Node b;
  LinkShape shape;
  LinkFaults forward;   // from a to b
  LinkFaults backward;  // from b to a
};

struct Topology {
  std::vector<Host> hosts;
  std::vector<Nic> nics;
  std::vector<Switch> switches;
  std::vector<Link> links;
  std::vector<LinkChange> changes;
  std::vector<HostChange> host_changes;
};

// Errors: kInvalid for the first contradiction: an index out of range, a NIC without exactly one
// link, an MTU below 576, a queue below one packet, a fault or share above a million, a lossless
// switch whose buffer is too small for its ports.
Result<void> validate(const Topology& topology);

// The number of links of each switch.
std::vector<uint32_t> switch_ports(const Topology& topology);

// The name of the host or switch; a NIC has its host's.
const std::string& node_name(const Topology& topology, const Node& node);
// The NIC's number within its host, from 0.
uint32_t nic_number(const Topology& topology, uint32_t nic);

}  // namespace heddle::topology
