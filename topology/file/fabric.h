// The [fabric] table of a topology file: which generator, with which numbers.
#pragma once

#include "topology/file/shapes.h"
#include "topology/file/table.h"
#include "topology/topology.h"

namespace heddle::topology {

// What a fabric's links are when no table says otherwise.
struct FabricLinks {
  LinkSettings host;  // with a NIC at one end
  LinkSettings between_switches;
  LinkSettings core;  // of a fat tree's cores
};

// Makes the fabric that the table names. What is wrong is kept in the table's errors.
Topology read_fabric(TableReader& table, const FabricLinks& links);

}  // namespace heddle::topology
