// Routes of planned paths: see plan_routes.h.
#include "planner/plan_routes.h"

#include "planner/paths/loads.h"

namespace heddle::planner {

// Calls use(i, route) for the flow's i-th path, where that has a route.
template <typename Use>
void PlanRoutes::for_each_route(const PlannedFlow& flow, Use use) {
  const std::vector<PathEndpoint>& endpoints = setting_.demand.endpoints;
  const uint32_t lanes = lanes_of(fabric_, endpoints[flow.demand.from].host,
                                  endpoints[flow.demand.to].host, setting_.paths);
  Route route;
  for (size_t i = 0; i < flow.paths.size(); ++i) {
    const uint16_t path = flow.paths[i].path;
    if (fabric_.route(key_of(fabric_, setting_.demand, flow.demand, path % lanes, path), route)) {
      use(i, route);
    }
  }
}

std::vector<double> PlanRoutes::loads(std::span<const PlannedFlow> flows) {
  Loads loads(fabric_, {});
  for (const PlannedFlow& flow : flows) {
    for_each_route(flow, [&](size_t i, const Route& route) {
      loads.add(route,
                static_cast<double>(flow.demand.bytes) * flow.paths[i].share_per_million * 1e-6);
    });
  }
  return {loads.all().begin(), loads.all().end()};
}

std::vector<std::vector<uint32_t>> PlanRoutes::switches(const PlannedFlow& flow) {
  std::vector<std::vector<uint32_t>> switches(flow.paths.size());
  for_each_route(flow, [&](size_t i, const Route& route) {
    for (const LinkId link : route.links()) {
      if (fabric_.end_of(link) != kNone) switches[i].push_back(fabric_.end_of(link));
    }
  });
  return switches;
}

}  // namespace heddle::planner
