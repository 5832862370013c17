// Reader of htsim's fat-tree topologies (.topo), with the semantics of htsim's programs: two or
// three tiers, each with speed, radix, latency, bundles and oversubscription.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/topology.h"

namespace heddle::topology {

// Parameters that htsim takes from its command line instead.
struct HtsimLinkUse {
  Bytes queue = mebibytes(1);  // for tiers without one in the file
  uint32_t mtu_bytes = 9000;
  Bytes ecn_threshold = {UINT64_MAX};
  uint32_t ecn_ramp_per_million = 0;  // see LinkShape
  Bytes ecn_ramp;
  SwitchShape switches;  // for all switches
};

// Node i is host hi; TOR, AGG and CORE switches are leaf0…, spine0…, core0…. Half of a switch's
// latency is added to each cable at that switch. `name` is the file's name in errors. Errors:
// kInvalid with file and line, also for tiers whose numbers contradict each other, and for a queue
// with different lengths at the two ends of a cable.
Result<Topology> parse_htsim_topology(std::string_view text, const std::string& name,
                                      const HtsimLinkUse& use);

}  // namespace heddle::topology
