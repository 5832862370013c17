// A fabric that several jobs share: what one of them counts of the others' loads, and how long its
// own links take with them. Leases (leases/tenant.h) plan and move by it.
#pragma once

#include <span>
#include <vector>

#include "planner/path_plan.h"
#include "planner/paths/fabric.h"
#include "topology/topology.h"

namespace heddle::planner {

// Bytes by LinkId that a plan puts on the links.
std::vector<double> loads_of_plan(const topology::Topology& topology, const Demand& demand,
                                  const PathPlan& plan, std::span<const uint32_t> failed_links);

// Leaves only loads of links that a demand may use: those between switches, and those of its
// hosts' NICs. Others' NICs would hide what can be gained.
void keep_usable(const topology::Topology& topology, const Demand& demand,
                 std::vector<double>& loads);

// What rates in bytes a second, by LinkId, are of the capacity of the `known` links between
// switches: 0 to 1.
double share_of_capacity(const topology::Topology& topology, std::span<const double> bytes_per_s,
                         std::span<const LinkId> known);

struct LinkTime {
  LinkId link = 0;
  double time_ns = 0;  // that it takes for its load
};

// One job on a fabric that others share: what does not change while they come and go is found once.
// Loads are bytes by LinkId.
class JobOnFabric {
 public:
  // `topology` must outlive this. Background of the demand is not used.
  JobOnFabric(const topology::Topology& topology, Demand demand, PathPlanOptions options);

  // Leaves only loads of links that paths of the job can take: others can neither delay it nor
  // change its plan.
  void keep_usable(std::vector<double>& loads) const;
  // Beside loads of others, on this number of threads (PathPlanOptions). Errors: those of
  // plan_paths().
  Result<PathPlan> plan_beside(std::vector<double> others, uint32_t threads);
  std::vector<double> loads_of(const PathPlan& plan);
  // The time of the most loaded of the links that carry something of `own`, ns; and of those that
  // belong to NICs, which is the same with any plan.
  double longest(std::span<const double> own, std::span<const double> others) const;
  double longest_of_nics(std::span<const double> own, std::span<const double> others) const;
  // The most loaded links between switches, at most `count`, the slowest first.
  std::vector<LinkTime> busiest_links(std::span<const double> loads, size_t count) const;

 private:
  void find_usable();
  template <typename Counts>
  double longest_if(std::span<const double> own, std::span<const double> others,
                    Counts counts) const;

  Fabric fabric_;
  Demand demand_;
  PathPlanOptions options_;
  std::vector<uint8_t> usable_;  // by link
};

}  // namespace heddle::planner
