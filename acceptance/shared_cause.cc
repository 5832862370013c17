// See shared_cause.h.
#include "acceptance/shared_cause.h"

#include <algorithm>
#include <set>

namespace heddle::acceptance {
namespace {

using topology::Node;
using topology::NodeKind;

bool holds(const HostPair& pair, uint32_t host) { return pair.from == host || pair.to == host; }

bool is_switch(const Node& node, uint32_t index) {
  return node.kind == NodeKind::kSwitch && node.index == index;
}

const Node& near_end(const topology::Topology& topology, const LinkUse& use) {
  const topology::Link& link = topology.links[use.link];
  return use.forward ? link.a : link.b;
}

const Node& far_end(const topology::Topology& topology, const LinkUse& use) {
  const topology::Link& link = topology.links[use.link];
  return use.forward ? link.b : link.a;
}

// Whether a route goes over the link, as far as its switches are known. The first link of all
// routes is the sending host's, the last the receiving one's.
bool takes(const topology::Topology& topology, const SeenRoute& route, const LinkUse& use) {
  const Node& near = near_end(topology, use);
  const Node& far = far_end(topology, use);
  for (size_t hop = 0; hop < route.switches.size(); ++hop) {
    if (!route.switches[hop] || !is_switch(near, *route.switches[hop])) continue;
    if (far.kind == NodeKind::kNic) return true;
    const bool last = hop + 1 == route.switches.size();
    return !last && route.switches[hop + 1] && is_switch(far, *route.switches[hop + 1]);
  }
  return near.kind == NodeKind::kNic;
}

}  // namespace

std::optional<uint32_t> host_behind(const std::vector<HostPair>& bad,
                                    const std::vector<HostPair>& all) {
  if (bad.empty()) return std::nullopt;
  std::vector<uint32_t> found;
  for (const uint32_t host : {bad.front().from, bad.front().to}) {
    const bool in_all = std::all_of(bad.begin(), bad.end(),
                                    [&](const HostPair& pair) { return holds(pair, host); });
    const auto with_host = std::count_if(all.begin(), all.end(),
                                         [&](const HostPair& pair) { return holds(pair, host); });
    if (in_all && static_cast<size_t>(with_host) == bad.size()) found.push_back(host);
  }
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

std::optional<uint32_t> host_not_reached(const std::vector<HostPair>& bad,
                                         const std::vector<HostPair>& all) {
  if (bad.size() < 2) return std::nullopt;
  const uint32_t host = bad.front().to;
  const auto goes_there = [host](const HostPair& pair) { return pair.to == host; };
  const auto there = std::count_if(all.begin(), all.end(), goes_there);
  const bool only = std::all_of(bad.begin(), bad.end(), goes_there);
  return only && static_cast<size_t>(there) == bad.size() ? std::optional(host) : std::nullopt;
}

std::vector<LinkUse> links_behind(const topology::Topology& topology, const HostPair& pair,
                                  const std::vector<SeenRoute>& routes) {
  std::vector<LinkUse> candidates;
  for (const auto& [use, share] : links_between(topology, pair)) candidates.push_back(use);
  for (const SeenRoute& route : routes) {
    if (!route.works) continue;
    std::erase_if(candidates, [&](const LinkUse& use) { return takes(topology, route, use); });
  }
  std::set<LinkUse> found;
  for (const SeenRoute& route : routes) {
    if (route.works) continue;
    std::optional<uint32_t> last;
    for (const std::optional<uint32_t>& each : route.switches) {
      if (!each) break;
      last = each;
    }
    for (const LinkUse& use : candidates) {
      const Node& near = near_end(topology, use);
      if (last ? is_switch(near, *last) : near.kind == NodeKind::kNic) found.insert(use);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace heddle::acceptance
