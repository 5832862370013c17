// Moving units off the most loaded link: see placement.h.
#include <algorithm>

#include "planner/paths/params.h"
#include "planner/paths/placement.h"

namespace heddle::planner {

void Placement::put(uint32_t unit, uint16_t path) {
  Route route;
  if (route_of(units_[unit], path, route)) put(unit, path, route);
}

void Placement::put(uint32_t unit, uint16_t path, const Route& route) {
  units_[unit].path = path;
  loads_.add(route, units_[unit].bytes);
  for (const LinkId link : route.between()) {
    units_on_[link].push_back(unit);
    note(link);
  }
}

void Placement::lift(uint32_t unit) {
  Route route;
  if (!route_of(units_[unit], units_[unit].path, route)) return;
  loads_.add(route, -units_[unit].bytes);
  for (const LinkId link : route.between()) {
    std::vector<uint32_t>& on = units_on_[link];
    const auto found = std::find(on.begin(), on.end(), unit);
    if (found == on.end()) continue;
    *found = on.back();
    on.pop_back();
    note(link);
  }
  units_[unit].path = kNoPath;
}

void Placement::note(LinkId link) { by_time_.emplace(loads_.time(link), link); }

// kNone: no link carries anything.
LinkId Placement::most_loaded() {
  while (!by_time_.empty()) {
    const auto [time, link] = by_time_.top();
    if (time == loads_.time(link)) return link;
    by_time_.pop();
  }
  return kNone;
}

size_t Placement::improve(double floor) {
  size_t moves = 0;
  const size_t most = params::kMostMoves + units_.size();
  while (moves < most) {
    const LinkId link = most_loaded();
    if (link == kNone) break;
    const double time = loads_.time(link);
    if (time <= floor * (1 + params::kTolerance)) break;
    bool relieved = false;
    for (uint32_t depth = 0; depth <= params::kDeepestChain && !relieved; depth += 2) {
      tries_ = params::kTriesOfChain;
      relieved = relieve(link, time * (1 - 1e-9), depth);
      locked_.clear();
    }
    if (!relieved) break;
    ++moves;
  }
  by_time_ = {};
  return moves;
}

// Moves a unit off the link to a route whose links stay below `limit`; with a `depth`, by moving
// others off that route first.
bool Placement::relieve(LinkId link, double limit, uint32_t depth) {
  // Moves change the list.
  const std::vector<uint32_t> units = units_on_[link];
  for (const uint32_t unit : units) {
    if (std::find(locked_.begin(), locked_.end(), unit) != locked_.end()) continue;
    if (make_room(unit, link, limit, depth)) return true;
    if (tries_ == 0) return false;
  }
  return false;
}

bool Placement::make_room(uint32_t unit, LinkId off, double limit, uint32_t depth) {
  const Unit before = units_[unit];
  const uint32_t lanes = lanes_of(demand_.flows[before.flow]);
  lift(unit);
  Route route;
  for (uint32_t i = before.lane; i < paths_ && tries_ > 0; i += lanes) {
    const auto path = static_cast<uint16_t>(i);
    if (path == before.path || !route_of(before, path, route)) continue;
    --tries_;
    LinkId full = kNone;
    uint32_t full_links = 0;
    for (const LinkId link : route.between()) {
      full_links += link == off ? 2 : 0;
      if (loads_.time_with(link, before.bytes) < limit) continue;
      full = link;
      ++full_links;
    }
    if (full_links == 0) {
      put(unit, path, route);
      return true;
    }
    if (full_links > 1 || depth == 0) continue;
    put(unit, path, route);
    locked_.push_back(unit);
    if (relieve(full, limit, depth - 1) && loads_.time(full) < limit) return true;
    locked_.pop_back();
    lift(unit);
  }
  put(unit, before.path);
  return false;
}

}  // namespace heddle::planner
