// Lane groups: lanes divided so that no link between switches can carry lanes of two groups, as the
// rails of a fabric are. Each group is planned by itself, on a table of its own links, and several
// at once.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/paths/fabric.h"
#include "planner/paths/regular_clos.h"
#include "planner/paths/route_table.h"

namespace heddle::planner {

// The group of each lane, from 0. One group only where lanes are few, where the fabric is no
// RegularClos (`clos` is null), and where a cable is down. With more of them, Fabric::route() of
// their lanes changes nothing in the fabric, and so may be called from several threads.
std::vector<uint16_t> group_lanes(const Fabric& fabric, const RegularClos* clos,
                                  const std::vector<Lane>& lanes);

}  // namespace heddle::planner
