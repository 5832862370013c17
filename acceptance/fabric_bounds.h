// Fabric bounds: what a topology allows, as expectations of measurements: the rate of flows that
// run at once, the number of routes, the MTU and the queues between two hosts. Flows are fluid and
// split evenly over the shortest routes, as ECMP does with many paths. Pure functions.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "acceptance/machine_addresses.h"
#include "base/nanos.h"
#include "topology/topology.h"

namespace heddle::acceptance {

// Between two hosts, by index; over the first NIC of each.
struct HostPair {
  uint32_t from = 0;
  uint32_t to = 0;

  bool operator==(const HostPair&) const = default;
};

// One direction of a link.
struct LinkUse {
  uint32_t link = 0;
  bool forward = true;

  auto operator<=>(const LinkUse&) const = default;
};

// The rate of each flow on the wire, in bits/s, if all run at once and each link is shared evenly;
// 0 for one that no link limits.
std::vector<double> fluid_rates(const topology::Topology& topology,
                                const std::vector<HostPair>& flows);

// The links of all shortest routes, nearest first, each with the share of a flow that takes it.
std::vector<std::pair<LinkUse, double>> links_between(const topology::Topology& topology,
                                                      const HostPair& pair);

struct RouteFacts {
  uint64_t routes = 0;  // 0: there is none
  uint32_t mtu_bytes = 0;
  Nanos queues;  // time to drain the largest queues of one route, one a hop
};
RouteFacts routes_between(const topology::Topology& topology, const HostPair& pair);

// The share of a link's rate that is heddle's payload, in full segments.
double payload_share(uint32_t mtu_bytes, IpVersion version);

// By place (hosts, then switches): 0 for hosts, 1 for switches with hosts, and so on.
std::vector<uint32_t> tiers_of(const topology::Topology& topology);
// The switch that a host's first NIC is on; UINT32_MAX: another host's NIC.
uint32_t leaf_of(const topology::Topology& topology, uint32_t host);

// Rounds in which each host has at most one partner, so that all pairs of a round run at once;
// every pair is in one round, in both directions over two rounds if `both`.
std::vector<std::vector<HostPair>> rounds_of(uint32_t hosts, bool both);
// Each host to the next one, in rounds of disjoint pairs; with `both` also back.
std::vector<std::vector<HostPair>> ring_rounds(uint32_t hosts, bool both);

}  // namespace heddle::acceptance
