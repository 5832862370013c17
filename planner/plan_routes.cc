// Routes of planned paths: see plan_routes.h.
#include "planner/plan_routes.h"

#include "planner/paths/loads.h"

namespace heddle::planner {

std::vector<double> loads_of(const PlannedOn& on, std::span<const PlannedFlow> flows) {
  Loads loads(on.fabric, {});
  for (const PlannedFlow& flow : flows) {
    for_each_planned_route(on, flow, kNone, [&](size_t i, const Route& route) {
      loads.add(route, planned_bytes(flow, flow.paths[i]));
    });
  }
  return {loads.all().begin(), loads.all().end()};
}

std::vector<std::vector<uint32_t>> PlanRoutes::switches(const PlannedFlow& flow) {
  std::vector<std::vector<uint32_t>> switches(flow.paths.size());
  for_each_planned_route(planned_on(), flow, kNone, [&](size_t i, const Route& route) {
    for (const LinkId link : route.links()) {
      if (fabric_.end_of(link) != kNone) switches[i].push_back(fabric_.end_of(link));
    }
  });
  return switches;
}

}  // namespace heddle::planner
