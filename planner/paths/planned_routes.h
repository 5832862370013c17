// The routes of planned paths, for all that counts loads or names switches by a plan.
#pragma once

#include <cstddef>

#include "planner/path_plan.h"
#include "planner/paths/demand.h"
#include "planner/paths/fabric.h"

namespace heddle::planner {

// A plan's connections on a fabric. All must outlive its users.
struct PlannedOn {
  Fabric& fabric;
  const Demand& demand;  // has the flows' endpoints
  uint16_t paths = 0;    // of a connection
};

inline double planned_bytes(const PlannedFlow& flow, const PlannedPath& path) {
  return static_cast<double>(flow.demand.bytes) * path.share_per_million / kWholeShare;
}

// Calls use(i, route) for the flow's i-th path, where that has a route; of one lane alone, unless
// `only_lane` is kNone.
template <typename Use>
void for_each_planned_route(const PlannedOn& on, const PlannedFlow& flow, uint32_t only_lane,
                            Use use) {
  const std::vector<PathEndpoint>& endpoints = on.demand.endpoints;
  const uint32_t lanes = lanes_of(on.fabric, endpoints[flow.demand.from].host,
                                  endpoints[flow.demand.to].host, on.paths);
  Route route;
  for (size_t i = 0; i < flow.paths.size(); ++i) {
    const uint16_t path = flow.paths[i].path;
    const uint32_t lane = path % lanes;
    if (only_lane != kNone && lane != only_lane) continue;
    if (on.fabric.route(key_of(on.fabric, on.demand, flow.demand, lane, path), route)) {
      use(i, route);
    }
  }
}

}  // namespace heddle::planner
