// The [fabric] table of a topology file: the generator and its parameters.
#pragma once

#include "topology/file/shapes.h"
#include "topology/file/table.h"
#include "topology/topology.h"

namespace heddle::topology {

// The links of a fabric where no other table changes them.
struct FabricLinks {
  LinkSettings host;  // with a NIC at one end
  LinkSettings between_switches;
  LinkSettings core;  // to the core switches of a fat tree
};

// Makes the fabric that the table describes. Mistakes are added to the table's errors.
Topology read_fabric(TableReader& table, const FabricLinks& links);

}  // namespace heddle::topology
