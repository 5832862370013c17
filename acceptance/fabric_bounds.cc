// See fabric_bounds.h.
#include "acceptance/fabric_bounds.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "acceptance/params.h"

namespace heddle::acceptance {
namespace {

using topology::Link;
using topology::Node;
using topology::NodeKind;
using topology::Topology;

constexpr uint32_t kFar = UINT32_MAX;

// NICs first, then switches.
uint32_t index_of(const Topology& topology, const Node& node) {
  const auto nics = static_cast<uint32_t>(topology.nics.size());
  return node.kind == NodeKind::kNic ? node.index : nics + node.index;
}

// The NIC with this number within its host.
uint32_t nic_of(const Topology& topology, uint32_t host, uint32_t number) {
  for (uint32_t nic = 0; nic < topology.nics.size(); ++nic) {
    if (topology.nics[nic].host == host && number-- == 0) return nic;
  }
  return kFar;
}

// A node of a route, with the share and the routes that reach it.
struct Reached {
  double share = 0;
  uint64_t routes = 0;
};

// The smallest rate of its links that a flow has if each is shared evenly by what is on it: of a
// flow its share, or the whole.
std::vector<double> shared_rates(const Topology& topology, const std::vector<HostPair>& flows,
                                 bool whole) {
  Routes routes(topology);
  std::map<LinkUse, double> loads;
  std::vector<std::vector<std::pair<LinkUse, double>>> used;
  for (const HostPair& flow : flows) {
    used.push_back(routes.links(flow));
    for (const auto& [use, share] : used.back()) loads[use] += whole ? 1 : share;
  }
  std::vector<double> rates;
  for (const auto& links : used) {
    double rate = 0;
    for (const auto& [use, share] : links) {
      const auto capacity = static_cast<double>(topology.links[use.link].shape.rate.count);
      if (capacity == 0) continue;
      const double allowed = capacity / loads[use];
      rate = rate == 0 ? allowed : std::min(rate, allowed);
    }
    rates.push_back(rate);
  }
  return rates;
}

}  // namespace

// NICs do not forward: each has one link.
Routes::Routes(const Topology& topology)
    : topology_(topology),
      nics_(topology.hosts.size()),
      hops_(topology.nics.size() + topology.switches.size()),
      distances_(hops_.size()) {
  for (uint32_t nic = 0; nic < topology.nics.size(); ++nic) {
    nics_[topology.nics[nic].host].push_back(nic);
  }
  for (uint32_t i = 0; i < topology.links.size(); ++i) {
    const uint32_t a = index_of(topology, topology.links[i].a);
    const uint32_t b = index_of(topology, topology.links[i].b);
    hops_[a].push_back({{i, true}, b});
    hops_[b].push_back({{i, false}, a});
  }
}

Routes::Tree Routes::tree_from(uint32_t node) const {
  Tree tree{std::vector<uint32_t>(hops_.size(), kFar), {node}};
  tree.distance[node] = 0;
  for (size_t at = 0; at < tree.order.size(); ++at) {
    const uint32_t near = tree.order[at];
    for (const Hop& hop : hops_[near]) {
      if (tree.distance[hop.to] != kFar) continue;
      tree.distance[hop.to] = tree.distance[near] + 1;
      tree.order.push_back(hop.to);
    }
  }
  return tree;
}

const std::vector<uint32_t>& Routes::distances_to(uint32_t node) {
  if (distances_[node].empty()) distances_[node] = tree_from(node).distance;
  return distances_[node];
}

uint32_t Routes::nic(uint32_t host, uint32_t number) const {
  return number < nics_[host].size() ? nics_[host][number] : kFar;
}

uint32_t Routes::length(const HostPair& pair) {
  const uint32_t from = nic(pair.from, pair.nics.from);
  const uint32_t to = nic(pair.to, pair.nics.to);
  if (from == kFar || to == kFar) return 0;
  const uint32_t distance = distances_to(to)[from];
  return distance == kFar ? 0 : distance;
}

// Walks all shortest routes, hop by hop; `visit` gets each link, what reaches its near end and its
// part of that.
template <typename Visit>
uint64_t Routes::walk(const HostPair& pair, Visit visit) {
  const uint32_t hops = length(pair);
  if (hops == 0) return 0;
  const uint32_t to = nic(pair.to, pair.nics.to);
  const std::vector<uint32_t>& distance = distances_to(to);
  std::map<uint32_t, Reached> front = {{nic(pair.from, pair.nics.from), {1, 1}}};
  for (uint32_t left = hops; left > 0; --left) {
    std::map<uint32_t, Reached> next;
    for (const auto& [node, reached] : front) {
      std::vector<Hop> onward;
      for (const Hop& hop : hops_[node]) {
        if (distance[hop.to] == left - 1) onward.push_back(hop);
      }
      for (const Hop& hop : onward) {
        const double share = reached.share / static_cast<double>(onward.size());
        visit(hop.use, share, hops - left);
        next[hop.to].share += share;
        next[hop.to].routes += reached.routes;
      }
    }
    front = std::move(next);
  }
  return front[to].routes;
}

std::vector<std::pair<LinkUse, double>> Routes::links(const HostPair& pair) {
  std::vector<std::pair<LinkUse, double>> links;
  walk(pair,
       [&](const LinkUse& use, double share, uint32_t /*hop*/) { links.emplace_back(use, share); });
  return links;
}

RouteFacts Routes::facts(const HostPair& pair) {
  RouteFacts facts;
  std::map<uint32_t, Nanos> by_hop;
  facts.routes = walk(pair, [&](const LinkUse& use, double /*share*/, uint32_t hop) {
    const topology::LinkShape& shape = topology_.links[use.link].shape;
    facts.mtu_bytes =
        facts.mtu_bytes == 0 ? shape.mtu_bytes : std::min(facts.mtu_bytes, shape.mtu_bytes);
    by_hop[hop] = std::max(by_hop[hop], transmit_time(shape.queue, shape.rate) + shape.delay);
  });
  for (const auto& [hop, time] : by_hop) facts.queues += time;
  return facts;
}

// All flows to one host at once, from the farthest node on: a node sends on what it has from
// farther ones.
std::map<LinkUse, double> Routes::all_to_all() const {
  std::map<LinkUse, double> carried;
  for (uint32_t host = 0; host < nics_.size(); ++host) {
    const uint32_t to = nic(host, 0);
    if (to == kFar) continue;
    const Tree tree = tree_from(to);
    std::vector<double> flows(hops_.size(), 0);
    for (const std::vector<uint32_t>& nics : nics_) {
      if (!nics.empty()) flows[nics.front()] = 1;
    }
    for (auto node = tree.order.rbegin(); *node != to; ++node) {
      std::vector<Hop> onward;
      for (const Hop& hop : hops_[*node]) {
        if (tree.distance[hop.to] + 1 == tree.distance[*node]) onward.push_back(hop);
      }
      const double share = flows[*node] / static_cast<double>(onward.size());
      for (const Hop& hop : onward) {
        if (share > 0) carried[hop.use] += share;
        flows[hop.to] += share;
      }
    }
  }
  return carried;
}

std::vector<std::pair<LinkUse, double>> links_between(const Topology& topology,
                                                      const HostPair& pair) {
  return Routes(topology).links(pair);
}

std::vector<double> fluid_rates(const Topology& topology, const std::vector<HostPair>& flows) {
  return shared_rates(topology, flows, false);
}

std::vector<double> one_route_rates(const Topology& topology, const std::vector<HostPair>& flows) {
  return shared_rates(topology, flows, true);
}

RouteFacts routes_between(const Topology& topology, const HostPair& pair) {
  return Routes(topology).facts(pair);
}

double payload_share(uint32_t mtu_bytes, IpVersion version) {
  const uint32_t headers =
      params::kHeaderBytes + (version == IpVersion::k4 ? params::kIpv4Bytes : params::kIpv6Bytes);
  if (mtu_bytes <= headers) return 0;
  return static_cast<double>(mtu_bytes - headers) /
         static_cast<double>(mtu_bytes + params::kFrameBytes);
}

double roce_payload_share(uint32_t mtu_bytes, IpVersion version) {
  const uint32_t headers =
      params::kRoceBytes + (version == IpVersion::k4 ? params::kIpv4Bytes : params::kIpv6Bytes);
  uint32_t payload = 4096;
  while (payload > 256 && payload + headers > mtu_bytes) payload /= 2;
  return payload / static_cast<double>(payload + headers + params::kFrameBytes);
}

std::vector<uint32_t> tiers_of(const Topology& topology) {
  const auto hosts = static_cast<uint32_t>(topology.hosts.size());
  std::vector<uint32_t> tiers(hosts + topology.switches.size(), kFar);
  const auto place = [&](const Node& node) {
    return node.kind == NodeKind::kNic ? topology.nics[node.index].host : hosts + node.index;
  };
  std::fill_n(tiers.begin(), hosts, 0);
  bool found = true;
  for (uint32_t tier = 0; found; ++tier) {
    found = false;
    for (const Link& link : topology.links) {
      for (const auto& [near, far] :
           {std::pair(place(link.a), place(link.b)), std::pair(place(link.b), place(link.a))}) {
        if (tiers[near] != tier || tiers[far] != kFar) continue;
        tiers[far] = tier + 1;
        found = true;
      }
    }
  }
  std::replace(tiers.begin(), tiers.end(), kFar, 0U);
  return tiers;
}

uint32_t leaf_of(const Topology& topology, uint32_t host, uint32_t number) {
  const uint32_t nic = nic_of(topology, host, number);
  for (const Link& link : topology.links) {
    for (const auto& [near, far] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      const bool own = near.kind == NodeKind::kNic && near.index == nic;
      if (own && far.kind == NodeKind::kSwitch) return far.index;
    }
  }
  return kFar;
}

// The circle method: one host stays, the others move on by one place a round.
std::vector<std::vector<HostPair>> rounds_of(uint32_t hosts, bool both) {
  const uint32_t seats = hosts + hosts % 2;  // with an odd number one host rests in each round
  std::vector<uint32_t> circle(seats);
  for (uint32_t i = 0; i < seats; ++i) circle[i] = i;
  std::vector<std::vector<HostPair>> rounds;
  for (uint32_t round = 0; round + 1 < seats; ++round) {
    std::vector<HostPair> there;
    std::vector<HostPair> back;
    for (uint32_t i = 0; i < seats / 2; ++i) {
      uint32_t from = circle[i];
      uint32_t to = circle[seats - 1 - i];
      if (from >= hosts || to >= hosts) continue;
      if (round % 2 == 1) std::swap(from, to);  // so that each host sends and receives
      there.push_back({from, to});
      back.push_back({to, from});
    }
    rounds.push_back(there);
    if (both) rounds.push_back(back);
    std::rotate(circle.begin() + 1, circle.end() - 1, circle.end());
  }
  return rounds;
}

std::vector<std::vector<HostPair>> ring_rounds(uint32_t hosts, bool both) {
  // Pairs that begin at an even host, at an odd one, and where an odd number of hosts closes.
  std::array<std::vector<HostPair>, 3> there;
  for (uint32_t from = 0; from < hosts; ++from) {
    const uint32_t to = (from + 1) % hosts;
    if (hosts == 2 && from == 1) break;  // the first pair, back
    const bool closes_alone = to == 0 && hosts % 2 == 1;
    there[closes_alone ? 2 : from % 2].push_back({from, to});
  }
  std::vector<std::vector<HostPair>> rounds;
  for (std::vector<HostPair>& round : there) {
    if (round.empty()) continue;
    rounds.push_back(round);
    if (!both) continue;
    for (HostPair& pair : round) std::swap(pair.from, pair.to);
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace heddle::acceptance
