// Shortest routes by breadth-first search from every switch with NICs, stored as groups of next
// links.
#include "simulator/routes.h"

#include "base/check.h"
#include "simulator/params.h"
#include "topology/ecmp.h"

namespace heddle::simulator {

using topology::NodeKind;
using topology::Topology;

NodeId node_id(const Topology& topology, const topology::Node& node) {
  return node.kind == NodeKind::kNic ? node.index
                                     : static_cast<NodeId>(topology.nics.size()) + node.index;
}

NodeId end_of(const Topology& topology, LinkId link) {
  const topology::Link& cable = topology.links[link / 2];
  return node_id(topology, link % 2 == 0 ? cable.b : cable.a);
}

NodeId start_of(const Topology& topology, LinkId link) { return end_of(topology, link ^ 1); }

// For each target, at most one direction of a cable is on a shortest route.
Result<void> Routes::check(const Topology& topology, const std::string& name) {
  std::vector<bool> is_target(topology.switches.size());
  uint64_t targets = 0;
  uint64_t cables = 0;
  for (const topology::Link& link : topology.links) {
    const bool between = link.a.kind == NodeKind::kSwitch && link.b.kind == NodeKind::kSwitch;
    if (between) ++cables;
    for (const topology::Node& end : {link.a, link.b}) {
      if (between || end.kind != NodeKind::kSwitch || is_target[end.index]) continue;
      is_target[end.index] = true;
      ++targets;
    }
  }
  const uint64_t switches = topology.switches.size();
  const uint64_t bytes = switches * switches * sizeof(Group) + targets * cables * sizeof(LinkId);
  if (bytes <= params::kMostRouteBytes) return {};
  return fail(ErrorCode::kInvalid, "cannot simulate " + name,
              "routes between its " + std::to_string(switches) + " switches over " +
                  std::to_string(cables) + " cables would take " +
                  std::to_string((bytes + (uint64_t{1} << 30) - 1) >> 30) +
                  " GiB, and 4 GiB is the most",
              "make it smaller, or of fewer and larger switches");
}

Routes::Routes(const Topology& topology, std::span<const uint8_t> down)
    : switches_(static_cast<uint32_t>(topology.switches.size())),
      egress_(topology.nics.size(), kNoIndex),
      switch_of_nic_(topology.nics.size(), kNoIndex),
      last_link_(topology.nics.size(), kNoIndex),
      groups_(size_t{switches_} * switches_) {
  const auto nics = static_cast<NodeId>(topology.nics.size());
  std::vector<std::vector<LinkId>> links_out(switches_);
  for (LinkId link = 0; link < 2 * topology.links.size(); ++link) {
    const NodeId from = start_of(topology, link);
    const NodeId to = end_of(topology, link);
    if (from < nics) {
      egress_[from] = link;
      if (to >= nics) switch_of_nic_[from] = to - nics;
    } else if (to < nics) {
      last_link_[to] = link;
    } else if (down.empty() || (down[link] == 0 && down[link ^ 1] == 0)) {
      links_out[from - nics].push_back(link);
    }
  }
  std::vector<bool> is_target(switches_);
  for (const uint32_t target : switch_of_nic_) {
    if (target != kNoIndex) is_target[target] = true;
  }
  for (uint32_t target = 0; target < switches_; ++target) {
    if (is_target[target]) add_ways_to(topology, target, links_out);
  }
}

void Routes::add_ways_to(const Topology& topology, uint32_t target,
                         std::span<const std::vector<LinkId>> links_out) {
  const auto nics = static_cast<NodeId>(topology.nics.size());
  std::vector<uint32_t> distance(switches_, kNoIndex);
  std::vector<uint32_t> order = {target};
  distance[target] = 0;
  // Cables are bidirectional, so the distance from the target equals the distance to it.
  for (size_t i = 0; i < order.size(); ++i) {
    for (const LinkId link : links_out[order[i]]) {
      const uint32_t neighbour = end_of(topology, link) - nics;
      if (distance[neighbour] != kNoIndex) continue;
      distance[neighbour] = distance[order[i]] + 1;
      order.push_back(neighbour);
    }
  }
  for (uint32_t from = 0; from < switches_; ++from) {
    if (from == target || distance[from] == kNoIndex) continue;
    Group& group = groups_[size_t{from} * switches_ + target];
    group.first = static_cast<uint32_t>(links_.size());
    for (const LinkId link : links_out[from]) {
      const uint32_t neighbour = end_of(topology, link) - nics;
      if (distance[neighbour] + 1 == distance[from]) links_.push_back(link);
    }
    group.count = static_cast<uint32_t>(links_.size()) - group.first;
  }
}

std::span<const LinkId> Routes::next_links(uint32_t switch_index, NicId nic) const {
  const uint32_t target = switch_of_nic_[nic];
  if (target == kNoIndex) return {};
  if (target == switch_index) return {&last_link_[nic], 1};
  const Group& group = groups_[size_t{switch_index} * switches_ + target];
  return std::span(links_).subspan(group.first, group.count);
}

uint32_t Routes::choose(uint32_t choices, uint64_t seed, const Packet& packet) {
  return topology::ecmp_choice(choices, seed,
                               {packet.from_nic, packet.to_nic, packet.from_port, packet.to_port});
}

}  // namespace heddle::simulator
