// The [[fault]] tables of a topology file: what goes wrong, when and where, as changes in the order
// of their times.
#pragma once

#include "topology/file/table.h"
#include "topology/topology.h"

namespace heddle::topology {

// Adds the changes to a topology whose links are all there.
void read_fault_script(const DocumentValue& faults, FileErrors& errors, Topology& topology);

}  // namespace heddle::topology
