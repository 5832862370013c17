// On two tiers a lane's links are the uplinks of its first leaf and the downlinks of its last one:
// leaves as senders and as receivers are the vertices of a graph with lanes as its edges, and the
// graph's components have no link in common.
#include "planner/paths/lane_groups.h"

#include <numeric>

namespace heddle::planner {
namespace {

class Components {
 public:
  explicit Components(uint32_t vertices) : parent_(vertices) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  uint32_t of(uint32_t vertex) {
    while (parent_[vertex] != vertex) {
      vertex = parent_[vertex] = parent_[parent_[vertex]];
    }
    return vertex;
  }
  void join(uint32_t a, uint32_t b) { parent_[of(a)] = of(b); }

 private:
  std::vector<uint32_t> parent_;
};

}  // namespace

std::vector<uint16_t> group_lanes(const Fabric& fabric, const RegularClos* clos,
                                  const std::vector<Lane>& lanes) {
  std::vector<uint16_t> groups(lanes.size());
  if (lanes.size() < params::kLeastGroupedLanes || clos == nullptr || fabric.any_down()) {
    return groups;
  }
  const auto switches = static_cast<uint32_t>(fabric.topology().switches.size());
  Components components(2 * switches);
  for (const Lane& lane : lanes) {
    const uint32_t from = fabric.switch_of(lane.from_nic);
    const uint32_t to = fabric.switch_of(lane.to_nic);
    if (from != to) components.join(from, switches + to);
  }
  std::vector<uint32_t> lanes_in(size_t{2} * switches);
  const auto component_of = [&](const Lane& lane) {
    return components.of(fabric.switch_of(lane.from_nic));
  };
  for (const Lane& lane : lanes) ++lanes_in[component_of(lane)];
  // Components in the order of their first lanes fill groups of about equal size.
  std::vector<uint32_t> group_of(size_t{2} * switches, kNone);
  size_t before = 0;
  uint32_t used = kNone;
  uint16_t groups_used = 0;
  for (size_t i = 0; i < lanes.size(); ++i) {
    const uint32_t component = component_of(lanes[i]);
    if (group_of[component] == kNone) {
      const auto part = static_cast<uint32_t>(before * params::kMostLaneGroups / lanes.size());
      if (part != used) ++groups_used;
      used = part;
      group_of[component] = groups_used - 1U;
      before += lanes_in[component];
    }
    groups[i] = static_cast<uint16_t>(group_of[component]);
  }
  return groups;
}

}  // namespace heddle::planner
