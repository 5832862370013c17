// Good group: the largest group of hosts that no failed row names, once the named hosts and links
// are left out. acceptance.cc has the group tested on its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "acceptance/report.h"
#include "base/result.h"
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
  bool largest = true;  // no other choice of hosts leaves more of them; false: that is not known
};

// A host's own link counts as the host. Of pairs that failed as few hosts as possible are left out,
// so that none is whole (a minimum vertex cover); of more than params::kMostCoveredHosts the host
// in most pairs goes first. Pairs with missing routes stand for their leaves, and leave no host
// out; nor do pairs with a link on their routes that is left out, unless they fail without it, too.
GoodGroup good_group(const topology::Topology& topology, const std::vector<Row>& rows);

// Tests a group on its own. The rows that it returns name what failed, as the whole topology does;
// none failed: it works.
using GroupTest = std::function<Result<std::vector<Row>>(const GoodGroup&)>;

struct ProvedGroup {
  GoodGroup group;               // that was tested last
  bool works = false;            // its test passed
  std::vector<GoodGroup> tried;  // before it, whose tests failed
};

// Leaves out what the test of a group names, too, and tests again, params::kMostRegroupings times
// at most. The first group has two hosts or more. Errors: those of the test.
Result<ProvedGroup> prove_group(const topology::Topology& topology, std::vector<Row> rows,
                                const GroupTest& test);

// What is left of a topology: these hosts, all switches, and the links that are not left out.
struct PartOfTopology {
  topology::Topology topology;
  std::vector<uint32_t> hosts;  // by index in the part: the index in the whole
  std::vector<uint32_t> links;
};
PartOfTopology part_of(const topology::Topology& topology, const GoodGroup& group);

}  // namespace heddle::acceptance
