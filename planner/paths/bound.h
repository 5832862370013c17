// Lower bounds on the time of the most loaded link, whatever routes the flows take.
#pragma once

#include "planner/paths/demand.h"
#include "planner/paths/fabric.h"
#include "planner/paths/placement.h"

namespace heddle::planner {

// Of the links between switches, ns: all that leaves or enters a switch with NICs crosses its
// working uplinks. Lanes carry what `placement` gave them.
double cut_bound(Fabric& fabric, const Demand& demand, const Placement& placement);

// The same by duality of linear programs: for any lengths of links, the sum of all flows' bytes
// times their shortest routes is at most the time times the sum of all rates times lengths. Lengths
// come from the loads of the placement, which must be reachable.
double dual_bound(Fabric& fabric, const Demand& demand, const Placement& placement);

}  // namespace heddle::planner
