// Reader of htsim's connection matrices (.cm), as its programs read them. Node i is host i of the
// topology.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "topology/topology.h"
#include "topology/workload.h"

namespace heddle::topology {

// Start times are picoseconds there, and are rounded to nanoseconds; `prio` and `addon` are read
// and have no effect. Flows without an id get the ones behind the largest that there is. A failure
// names a cable of a fabric whose switches are called leaf0, spine0, core0 (its TOR, AGG, CORE): of
// a TOR or AGG one that goes up, of a CORE one that goes down. `name` stands for the file in
// errors. Errors: kInvalid with file and line.
Result<Workload> parse_htsim_matrix(std::string_view text, const std::string& name,
                                    const Topology& topology);

}  // namespace heddle::topology
