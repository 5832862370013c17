// See graph.h.
#include "probing/graph.h"

#include <deque>

namespace heddle::probing {

Graph::Graph(const FoundFabric& found) : nics_(static_cast<uint32_t>(found.nics.size())) {
  neighbors_.resize(found.nics.size() + found.switches.size());
  for (const FoundLink& link : found.links) {
    if (!link.a.is_known() || !link.b.is_known()) continue;
    neighbors_[number_of(link.a)].push_back(link.b);
    neighbors_[number_of(link.b)].push_back(link.a);
  }
}

std::vector<uint32_t> Graph::distances(const Place& to) const {
  std::vector<uint32_t> hops(neighbors_.size(), kFar);
  hops[number_of(to)] = 0;
  std::deque<Place> next = {to};
  while (!next.empty()) {
    const Place at = next.front();
    next.pop_front();
    if (at.kind == topology::NodeKind::kNic && at != to) continue;
    for (const Place& neighbor : neighbors(at)) {
      if (hops[number_of(neighbor)] != kFar) continue;
      hops[number_of(neighbor)] = hops[number_of(at)] + 1;
      next.push_back(neighbor);
    }
  }
  return hops;
}

std::optional<std::vector<Hop>> Graph::only_route(const Place& from, const Place& to) const {
  const std::vector<uint32_t> hops = distances(to);
  std::vector<Hop> route;
  Place at = from;
  while (at != to) {
    std::optional<Place> next;
    for (const Place& neighbor : neighbors(at)) {
      if (hops[number_of(neighbor)] == kFar || hops[number_of(neighbor)] + 1 != hops[number_of(at)])
        continue;
      if (next) return std::nullopt;
      next = neighbor;
    }
    if (!next) return std::nullopt;
    route.push_back({at, *next});
    at = *next;
  }
  return route;
}

}  // namespace heddle::probing
