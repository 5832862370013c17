// Fabric bounds: what a topology allows, as expectations of measurements: the rate of flows that
// run at once, the number of routes, the MTU and the queues between two hosts. Flows are fluid and
// split evenly over the shortest routes, as ECMP does with many paths. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "acceptance/machine_addresses.h"
#include "base/nanos.h"
#include "topology/topology.h"

namespace heddle::acceptance {

// NICs of two hosts, by their numbers within them.
struct NicNumbers {
  uint32_t from = 0;
  uint32_t to = 0;

  bool operator==(const NicNumbers&) const = default;
};

// Between two hosts, by index.
struct HostPair {
  uint32_t from = 0;
  uint32_t to = 0;
  NicNumbers nics = {};  // else than the first ones: over these

  bool over_first_nics() const { return nics == NicNumbers{}; }
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

// The same of flows that each keep to one of their shortest routes, as an RC queue pair does: what
// a flow has at least, on whichever route, if all take a link that may.
std::vector<double> one_route_rates(const topology::Topology& topology,
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

// The shortest routes of a topology, for many pairs of its hosts: its links are sorted by node
// once, and the distances to a host are computed once.
class Routes {
 public:
  // `topology` must outlive it.
  explicit Routes(const topology::Topology& topology);

  // The links of one route; 0: there is none.
  uint32_t length(const HostPair& pair);
  // As links_between() and routes_between().
  std::vector<std::pair<LinkUse, double>> links(const HostPair& pair);
  RouteFacts facts(const HostPair& pair);
  // Of flows from all hosts to all others, one a pair: how many each direction of a link carries.
  std::map<LinkUse, double> all_to_all() const;

 private:
  struct Hop {
    LinkUse use;
    uint32_t to = 0;
  };
  // Nodes are NICs, then switches. Distances from one, and the nodes that it reaches, nearest
  // first.
  struct Tree {
    std::vector<uint32_t> distance;
    std::vector<uint32_t> order;
  };
  Tree tree_from(uint32_t node) const;
  const std::vector<uint32_t>& distances_to(uint32_t node);
  template <typename Visit>
  uint64_t walk(const HostPair& pair, Visit visit);
  uint32_t nic(uint32_t host, uint32_t number) const;

  const topology::Topology& topology_;
  std::vector<std::vector<uint32_t>> nics_;       // by host, in order
  std::vector<std::vector<Hop>> hops_;            // by node, its links
  std::vector<std::vector<uint32_t>> distances_;  // to a node; empty: not computed yet
};

// The share of a link's rate that is heddle's payload, in full segments.
double payload_share(uint32_t mtu_bytes, IpVersion version);

// The same of RoCE v2 in full packets, whose payload is a power of two of 256 to 4096 bytes.
double roce_payload_share(uint32_t mtu_bytes, IpVersion version);

// By place (hosts, then switches): 0 for hosts, 1 for switches with hosts, and so on.
std::vector<uint32_t> tiers_of(const topology::Topology& topology);
// The switch that a NIC of a host, by its number within it, is on; UINT32_MAX: another host's NIC,
// or it has no such NIC.
uint32_t leaf_of(const topology::Topology& topology, uint32_t host, uint32_t number = 0);

// Rounds in which each host has at most one partner, so that all pairs of a round run at once;
// every pair is in one round, in both directions over two rounds if `both`.
std::vector<std::vector<HostPair>> rounds_of(uint32_t hosts, bool both);
// Each host to the next one, in rounds of disjoint pairs; with `both` also back.
std::vector<std::vector<HostPair>> ring_rounds(uint32_t hosts, bool both);

}  // namespace heddle::acceptance
