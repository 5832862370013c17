// A fabric that several jobs share: what one of them counts of the others' loads, and how long its
// own links take with them. Leases (leases/tenant.h) plan and move by it.
#pragma once

#include <span>
#include <vector>

#include "planner/path_plan.h"
#include "topology/topology.h"

namespace heddle::planner {

// Bytes by LinkId that a plan puts on the links.
std::vector<double> loads_of_plan(const topology::Topology& topology, const Demand& demand,
                                  const PathPlan& plan, std::span<const uint32_t> failed_links);

// Leaves only loads of links that the demand can use: those between switches, and those of its
// hosts' NICs. Others' NICs would hide what can be gained.
void keep_usable(const topology::Topology& topology, const Demand& demand,
                 std::vector<double>& loads);

// The time of the most loaded of the links that carry something of `own`, ns. `others` may be
// empty: no loads beside it.
double longest_of_own(const topology::Topology& topology, std::span<const double> own,
                      std::span<const double> others);

// What rates in bytes a second, by LinkId, are of the capacity of the `known` links between
// switches: 0 to 1.
double share_of_capacity(const topology::Topology& topology, std::span<const double> bytes_per_s,
                         std::span<const LinkId> known);

struct LinkTime {
  LinkId link = 0;
  double time_ns = 0;  // that it takes for its load
};

// The most loaded links between switches, at most `count`, the slowest first.
std::vector<LinkTime> busiest_links(const topology::Topology& topology,
                                    std::span<const double> loads, size_t count);

}  // namespace heddle::planner
