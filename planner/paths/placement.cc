// Units of flows and their first placement: see placement.h. placement_moves.cc moves them.
#include "planner/paths/placement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "planner/paths/coloring.h"
#include "planner/paths/regular_clos.h"

namespace heddle::planner {

double Loads::longest_between() const {
  double longest = 0;
  for (LinkId link = 0; link < bytes_.size(); ++link) {
    if (fabric_->is_between_switches(link)) longest = std::max(longest, time(link));
  }
  return longest;
}

double Loads::longest_of_nics() const {
  double longest = 0;
  for (LinkId link = 0; link < bytes_.size(); ++link) {
    if (!fabric_->is_between_switches(link)) longest = std::max(longest, time(link));
  }
  return longest;
}

Placement::Placement(Fabric& fabric, const Demand& demand, uint16_t paths)
    : fabric_(fabric),
      demand_(demand),
      paths_(paths),
      loads_(fabric, demand.background),
      units_on_(fabric.links()) {}

uint32_t Placement::lanes_of(const FlowDemand& flow) const {
  return planner::lanes_of(fabric_, demand_.endpoints[flow.from].host,
                           demand_.endpoints[flow.to].host, paths_);
}

// A lane carries as much as the slower of its two NICs allows; none where a cable is down.
std::vector<double> Placement::lane_bytes(const FlowDemand& flow) {
  std::vector<double> bytes(lanes_of(flow));
  double sum = 0;
  for (uint32_t lane = 0; lane < bytes.size(); ++lane) {
    const topology::EcmpKey key = key_of(fabric_, demand_, flow, lane, 0);
    const LinkId out = fabric_.egress(key.from_nic);
    const LinkId in = fabric_.ingress(key.to_nic);
    if (fabric_.down(out) || fabric_.down(in)) continue;
    // Links without a rate count as equal ones.
    bytes[lane] = std::min({fabric_.rate(out), fabric_.rate(in), 1e6});
    sum += bytes[lane];
  }
  const bool none = sum == 0;
  for (double& each : bytes) {
    each = static_cast<double>(flow.bytes) *
           (none ? 1 / static_cast<double>(bytes.size()) : each / sum);
  }
  return bytes;
}

void Placement::cut(uint32_t parts) {
  units_.clear();
  for (uint32_t i = 0; i < demand_.flows.size(); ++i) {
    const std::vector<double> bytes = lane_bytes(demand_.flows[i]);
    for (uint32_t lane = 0; lane < bytes.size(); ++lane) {
      if (bytes[lane] == 0) continue;
      // A lane has no more units than paths.
      const uint32_t paths = (paths_ - lane + static_cast<uint32_t>(bytes.size()) - 1) /
                             static_cast<uint32_t>(bytes.size());
      const uint32_t units = std::min(parts, paths);
      for (uint32_t part = 0; part < units; ++part) {
        units_.push_back({i, static_cast<uint16_t>(lane), kNoPath, bytes[lane] / units});
      }
    }
  }
}

void Placement::place(uint32_t parts, double floor) {
  loads_ = Loads(fabric_, demand_.background);
  for (std::vector<uint32_t>& units : units_on_) units.clear();
  unreachable_ = 0;
  cut(parts);
  colored_ = color();
  place_greedily();
  improve(floor);
}

// Places all units that lead through the fabric, except those for which no entropy takes the
// uplink that they got. False: the coloring does not apply, and nothing has changed.
bool Placement::color() {
  const std::optional<RegularClos> clos = RegularClos::find(fabric_);
  if (!clos || units_.empty() || clos->uplinks() > Colors::kMost) return false;
  if (!demand_.background.empty()) return false;
  std::vector<BipartiteEdge> edges;
  std::vector<uint32_t> unit_of;
  for (uint32_t i = 0; i < units_.size(); ++i) {
    if (std::abs(units_[i].bytes - units_.front().bytes) > 1e-6 * units_.front().bytes)
      return false;
    const topology::EcmpKey key =
        key_of(fabric_, demand_, demand_.flows[units_[i].flow], units_[i].lane, 0);
    const uint32_t from = fabric_.switch_of(key.from_nic);
    const uint32_t to = fabric_.switch_of(key.to_nic);
    if (from == to) continue;
    edges.push_back({from, to});
    unit_of.push_back(i);
  }
  const auto reachable = [&](uint32_t edge) {
    const Unit& unit = units_[unit_of[edge]];
    const FlowDemand& flow = demand_.flows[unit.flow];
    const uint32_t lanes = lanes_of(flow);
    Colors colors;
    for (uint32_t path = unit.lane; path < paths_; path += lanes) {
      colors.add(clos->place_of(fabric_.first_choice(
          key_of(fabric_, demand_, flow, unit.lane, static_cast<uint16_t>(path)))));
    }
    return colors;
  };
  const auto switches = static_cast<uint32_t>(fabric_.topology().switches.size());
  const std::vector<uint16_t> colors =
      color_edges({switches, switches, edges}, clos->uplinks(), reachable);
  for (size_t edge = 0; edge < edges.size(); ++edge) {
    const LinkId up = fabric_.links_from(edges[edge].left)[colors[edge]];
    const LinkId down = fabric_.links_from(edges[edge].right)[colors[edge]] ^ 1;
    const uint16_t path = colored_path(units_[unit_of[edge]], up, down);
    if (path != kNoPath) put(unit_of[edge], path);
  }
  return true;
}

// The first path that takes both links; where there is none, one that takes the uplink.
uint16_t Placement::colored_path(const Unit& unit, LinkId up, LinkId down) {
  const FlowDemand& flow = demand_.flows[unit.flow];
  const uint32_t lanes = lanes_of(flow);
  uint16_t second_best = kNoPath;
  Route route;
  for (uint32_t i = unit.lane; i < paths_; i += lanes) {
    const auto path = static_cast<uint16_t>(i);
    const topology::EcmpKey key = key_of(fabric_, demand_, flow, unit.lane, path);
    if (fabric_.first_choice(key) != up) continue;
    if (fabric_.route(key, route) && route.between().back() == down) return path;
    if (second_best == kNoPath) second_best = path;
  }
  return second_best;
}

// Large units first, because small ones fit into what these leave.
void Placement::place_greedily() {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < units_.size(); ++i) {
    if (units_[i].path == kNoPath) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [this](uint32_t a, uint32_t b) { return units_[a].bytes > units_[b].bytes; });
  for (const uint32_t unit : order) {
    const uint16_t path = cheapest_path(units_[unit]);
    if (path == kNoPath) {
      ++unreachable_;
    } else {
      put(unit, path);
    }
  }
}

Placement::Cost Placement::cost_of(const Route& route, double bytes) const {
  Cost cost;
  for (const LinkId link : route.between()) {
    const double time = loads_.time_with(link, bytes);
    cost.longest = std::max(cost.longest, time);
    cost.sum += time;
  }
  return cost;
}

uint16_t Placement::cheapest_path(const Unit& unit) {
  const uint32_t lanes = lanes_of(demand_.flows[unit.flow]);
  Cost least{std::numeric_limits<double>::infinity(), 0};
  uint16_t cheapest = kNoPath;
  Route route;
  for (uint32_t path = unit.lane; path < paths_; path += lanes) {
    if (!route_of(unit, static_cast<uint16_t>(path), route)) continue;
    const Cost cost = cost_of(route, unit.bytes);
    if (cheapest != kNoPath && !(cost < least)) continue;
    least = cost;
    cheapest = static_cast<uint16_t>(path);
    if (route.between().empty()) break;
  }
  return cheapest;
}

Loads Placement::loads_of_first_paths() {
  Loads loads(fabric_, demand_.background);
  Route route;
  for (const FlowDemand& flow : demand_.flows) {
    const std::vector<double> bytes = lane_bytes(flow);
    for (uint32_t lane = 0; lane < bytes.size(); ++lane) {
      if (route_of_lane(flow, lane, static_cast<uint16_t>(lane), route)) {
        loads.add(route, bytes[lane]);
      }
    }
  }
  return loads;
}

Loads Placement::loads_of_all_paths() {
  Loads loads(fabric_, demand_.background);
  std::vector<Route> routes;
  Route route;
  for (const FlowDemand& flow : demand_.flows) {
    const std::vector<double> bytes = lane_bytes(flow);
    for (uint32_t lane = 0; lane < bytes.size(); ++lane) {
      routes.clear();
      for (uint32_t path = lane; path < paths_; path += static_cast<uint32_t>(bytes.size())) {
        if (route_of_lane(flow, lane, static_cast<uint16_t>(path), route)) routes.push_back(route);
      }
      for (const Route& each : routes) {
        loads.add(each, bytes[lane] / static_cast<double>(routes.size()));
      }
    }
  }
  return loads;
}

}  // namespace heddle::planner
