// The [[fault]] tables of a topology file, as changes ordered by time.
#pragma once

#include "topology/file/table.h"
#include "topology/topology.h"

namespace heddle::topology {

// Adds the changes to `topology`, whose links must be complete.
void read_fault_script(const DocumentValue& faults, FileErrors& errors, Topology& topology);

}  // namespace heddle::topology
