// Good group: the largest group of hosts that no failed row names, once the named hosts and links
// are left out. Pure functions; acceptance.cc has the group tested on its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "acceptance/report.h"
#include "topology/topology.h"

namespace heddle::acceptance {

struct LeftOut {
  std::string place;  // "h3", "leaf0 - spine1"
  std::string why;    // "MTU: 1400"
};

struct GoodGroup {
  std::vector<uint32_t> hosts;  // by index, ascending
  std::vector<uint32_t> links;  // between switches, that are left out
  bool links_carry = false;     // some of them still carry packets
  std::vector<LeftOut> left_out;
};

// A host's own link counts as the host. Of pairs that failed, the host in most of them is left out
// first. Pairs with missing routes stand for their leaves, and leave no host out.
GoodGroup good_group(const topology::Topology& topology, const std::vector<Row>& rows);

// What is left of a topology: these hosts, all switches, and the links that are not left out.
struct PartOfTopology {
  topology::Topology topology;
  std::vector<uint32_t> hosts;  // by index in the part: the index in the whole
  std::vector<uint32_t> links;
};
PartOfTopology part_of(const topology::Topology& topology, const GoodGroup& group);

}  // namespace heddle::acceptance
