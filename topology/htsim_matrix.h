// Reader of htsim's connection matrices (.cm), with the semantics of htsim's programs. Node i is
// host i of the topology.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/topology.h"
#include "topology/workload.h"

namespace heddle::topology {

// Start times are in picoseconds in the file, rounded to nanoseconds here. `prio` and `addon` are
// accepted and ignored. Flows without an id get ids above the largest in the file. A failure names
// a cable of a fabric with switches leaf0, spine0, core0 (htsim's TOR, AGG, CORE): for a TOR or AGG
// an uplink, for a CORE a downlink. `name` is the file's name in errors. Errors: kInvalid with file
// and line.
Result<Workload> parse_htsim_matrix(std::string_view text, const std::string& name,
                                    const Topology& topology);

}  // namespace heddle::topology
