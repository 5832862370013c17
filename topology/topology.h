// Topology: hosts, their NICs, switches and links as plain data. The simulator, the lab and the
// planner all start from it. generators.h makes common ones.
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

// A host's NICs are numbered from 0 in the order in which they stand in the topology.
struct Nic {
  uint32_t host = 0;
};

struct Switch {
  std::string name;
  uint64_t hash_seed = 0;  // of its ECMP choice; equal seeds in two tiers polarise the second
  SwitchShape shape;
};

// How one direction of a link behaves while all is well.
struct LinkShape {
  BitsPerSec rate = gigabits_per_s(100);
  Nanos delay = micros(1);             // propagation
  Bytes queue = mebibytes(1);          // in front of it; what does not fit is dropped
  Bytes ecn_threshold = {UINT64_MAX};  // capable packets that find more are marked; 0: all are
  uint32_t mtu_bytes = 9000;           // the largest IP packet
  // RED's ramp: of capable packets that find up to `ecn_ramp` more than the threshold a share is
  // marked that rises from none to so many of a million; then all are. Zero: all are at once.
  uint32_t ecn_ramp_per_million = 0;
  Bytes ecn_ramp;
};

// A cable: both directions have the same shape, faults may differ.
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

// Errors: kInvalid, naming the first thing that makes no sense: an index out of range, a NIC
// without exactly one link, an MTU below 576, a queue below one packet, a fault or a share above a
// million, a lossless switch whose buffer is too small for its ports.
Result<void> validate(const Topology& topology);

// How many links each switch has.
std::vector<uint32_t> switch_ports(const Topology& topology);

// The host's or switch's name, as a file gives it; a NIC has its host's.
const std::string& node_name(const Topology& topology, const Node& node);
// Which NIC of its host it is, from 0.
uint32_t nic_number(const Topology& topology, uint32_t nic);

}  // namespace heddle::topology
