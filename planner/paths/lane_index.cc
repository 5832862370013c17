// See lane_index.h. On two tiers the lanes that a cable concerns are those of its leaf.
#include "planner/paths/lane_index.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace heddle::planner {

class LaneIndex::Near {
 public:
  Near(const Fabric& fabric, uint32_t target, uint32_t most_hops) {
    hops_[target] = 0;
    order_.push_back(target);
    for (size_t i = 0; i < order_.size(); ++i) {
      const uint32_t hops = hops_[order_[i]];
      if (hops == most_hops) break;
      for (const LinkId link : fabric.links_from(order_[i])) {
        if (hops_.try_emplace(fabric.end_of(link), hops + 1).second) {
          order_.push_back(fabric.end_of(link));
        }
      }
    }
  }

  uint32_t target() const { return order_.front(); }
  // kNone: it is not near.
  uint32_t hops(uint32_t from) const {
    const auto found = hops_.find(from);
    return found == hops_.end() ? kNone : found->second;
  }
  const std::vector<uint32_t>& switches() const { return order_; }

 private:
  std::unordered_map<uint32_t, uint32_t> hops_;
  std::vector<uint32_t> order_;  // by hops
};

LaneIndex::LaneIndex(Fabric& fabric)
    : fabric_(fabric),
      from_(fabric.topology().switches.size()),
      to_(fabric.topology().switches.size()),
      of_host_(fabric.topology().hosts.size()) {}

// Calls use(lane, from, to) for its lanes between two switches.
template <typename Use>
void LaneIndex::for_each_lane(const Demand& demand, uint32_t flow, uint16_t paths, Use use) const {
  const FlowDemand& its = demand.flows[flow];
  const uint32_t lanes =
      lanes_of(fabric_, demand.endpoints[its.from].host, demand.endpoints[its.to].host, paths);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    const topology::EcmpKey key = key_of(fabric_, demand, its, lane, 0);
    const uint32_t from = fabric_.switch_of(key.from_nic);
    const uint32_t to = fabric_.switch_of(key.to_nic);
    if (from == kNone || to == kNone || from == to) continue;
    use(LaneRef{flow, static_cast<uint16_t>(lane)}, from, to);
  }
}

void LaneIndex::add(const Demand& demand, uint32_t flow, uint16_t paths) {
  for_each_lane(demand, flow, paths, [&](LaneRef lane, uint32_t from, uint32_t to) {
    from_[from].push_back({lane, to});
    to_[to].push_back({lane, from});
    const uint32_t hops = fabric_.shortest_hops(from, to);
    if (hops != kNone) most_hops_ = std::max(most_hops_, hops);
  });
  const FlowDemand& its = demand.flows[flow];
  of_host_[demand.endpoints[its.from].host].push_back(flow);
  of_host_[demand.endpoints[its.to].host].push_back(flow);
}

void LaneIndex::remove(const Demand& demand, uint32_t flow, uint16_t paths) {
  const auto is_its = [flow](const End& end) { return end.lane.flow == flow; };
  for_each_lane(demand, flow, paths, [&](LaneRef, uint32_t from, uint32_t to) {
    std::erase_if(from_[from], is_its);
    std::erase_if(to_[to], is_its);
  });
  const FlowDemand& its = demand.flows[flow];
  std::erase(of_host_[demand.endpoints[its.from].host], flow);
  std::erase(of_host_[demand.endpoints[its.to].host], flow);
}

void LaneIndex::find_lanes(uint32_t cable, std::vector<LaneRef>& lanes) const {
  if (most_hops_ == 0) return;
  const Near a(fabric_, fabric_.start_of(2 * cable), most_hops_ - 1);
  const Near b(fabric_, fabric_.end_of(2 * cable), most_hops_ - 1);
  find_crossing(a, b, lanes);
  find_crossing(b, a, lanes);
}

// Those that go over the link from one switch to the other. A route that begins or ends with the
// link is found at that switch; others have two hops more at least.
void LaneIndex::find_crossing(const Near& to_start, const Near& to_end,
                              std::vector<LaneRef>& lanes) const {
  const auto crosses = [&](uint32_t from, uint32_t to) {
    const uint32_t before = to_start.hops(from);
    const uint32_t after = to_end.hops(to);
    if (before == kNone || after == kNone || before + 1 + after > most_hops_) return false;
    return before + 1 + after == fabric_.shortest_hops(from, to);
  };
  for (const End& each : from_[to_start.target()]) {
    if (crosses(to_start.target(), each.other)) lanes.push_back(each.lane);
  }
  for (const End& each : to_[to_end.target()]) {
    if (each.other == to_start.target()) continue;  // found above
    if (crosses(each.other, to_end.target())) lanes.push_back(each.lane);
  }
  for (const uint32_t from : to_start.switches()) {
    if (from == to_start.target()) continue;
    if (to_start.hops(from) + 2 > most_hops_) break;
    for (const End& each : from_[from]) {
      if (each.other != to_end.target() && crosses(from, each.other)) lanes.push_back(each.lane);
    }
  }
}

}  // namespace heddle::planner
