// Reader of htsim's fat-tree topologies (.topo), as its programs read them: two or three tiers with
// speed, radix, latency, bundles and oversubscription of each.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/topology.h"

namespace heddle::topology {

// What the file leaves to htsim's command line.
struct HtsimLinkUse {
  Bytes queue = mebibytes(1);  // of tiers that give none
  uint32_t mtu_bytes = 9000;
  Bytes ecn_threshold = {UINT64_MAX};
  uint32_t ecn_ramp_per_million = 0;  // see LinkShape
  Bytes ecn_ramp;
  SwitchShape switches;  // all of them
};

// Node i is host hi; its TOR, AGG and CORE switches are leaf0…, spine0…, core0…. Half of a switch's
// latency is in each cable that it holds. `name` stands for the file in errors. Errors: kInvalid
// with file and line; what its tiers' numbers make impossible is one, a queue that is not equally
// long at both ends of a cable too.
Result<Topology> parse_htsim_topology(std::string_view text, const std::string& name,
                                      const HtsimLinkUse& use);

}  // namespace heddle::topology
