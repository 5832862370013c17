// The routes of planned paths: loads that a plan makes, for plans beside others, and the switches
// that its paths cross.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/path_plan.h"
#include "planner/paths/planned_routes.h"
#include "topology/topology.h"

namespace heddle::planner {

// Where a plan's paths lead. `topology` and `demand`, which has the flows' endpoints, must outlive
// its users.
struct PlanSetting {
  const topology::Topology& topology;
  const Demand& demand;
  uint16_t paths = 0;  // of a connection
  std::span<const uint32_t> failed_links;
};

// Bytes by LinkId, NICs' links included. Paths without a route carry nothing.
std::vector<double> loads_of(const PlannedOn& on, std::span<const PlannedFlow> flows);

class PlanRoutes {
 public:
  explicit PlanRoutes(const PlanSetting& setting)
      : setting_(setting), fabric_(setting.topology, setting.failed_links) {}

  std::vector<double> loads(std::span<const PlannedFlow> flows) {
    return loads_of(planned_on(), flows);
  }
  // The switches of each path of a flow, in the order of travel; none where it has no route.
  std::vector<std::vector<uint32_t>> switches(const PlannedFlow& flow);

 private:
  PlannedOn planned_on() { return {fabric_, setting_.demand, setting_.paths}; }

  const PlanSetting setting_;
  Fabric fabric_;
};

}  // namespace heddle::planner
