// Demand: the bytes that connections of a fabric's hosts carry at the same time, as path planning
// sees them. Each connection has up to 256 paths, one entropy each, dealt out over its pairs of
// NICs: path i goes from NIC i to NIC i of the peer, modulo the larger number of NICs (its lane).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planner/paths/fabric.h"
#include "topology/ecmp.h"
#include "topology/workload.h"

namespace heddle::planner {

// A process with an endpoint on a host: what its packets carry as ports.
struct PathEndpoint {
  uint32_t host = 0;
  uint16_t port = topology::kFlowPort;  // where it receives
  uint16_t first_source_port = topology::kFirstSourcePort;

  bool operator==(const PathEndpoint&) const = default;
};

struct FlowDemand {
  uint32_t from = 0;  // indexes of endpoints, as is `to`
  uint32_t to = 0;
  uint64_t bytes = 0;
};

struct Demand {
  std::vector<PathEndpoint> endpoints;
  std::vector<FlowDemand> flows;   // one a connection
  std::vector<double> background;  // bytes of others, by LinkId; empty: none
};

// The flows of a workload, those between two hosts in sum, because they share a connection. Ordered
// by sender and receiver. Jobs are not part of it; see jobs.h.
Demand demand_of_flows(const topology::Workload& workload, const topology::Topology& topology);

// The lanes of a connection between two hosts with this number of paths.
inline uint32_t lanes_of(const Fabric& fabric, uint32_t from_host, uint32_t to_host,
                         uint16_t paths) {
  const size_t nics = std::max(fabric.nics_of(from_host).size(), fabric.nics_of(to_host).size());
  return static_cast<uint32_t>(std::min<size_t>(nics, paths));
}

// What packets on a path of the flow's connection carry.
inline topology::EcmpKey key_of(const Fabric& fabric, const Demand& demand, const FlowDemand& flow,
                                uint32_t lane, uint16_t path) {
  const PathEndpoint& from = demand.endpoints[flow.from];
  const PathEndpoint& to = demand.endpoints[flow.to];
  const std::span<const uint32_t> own = fabric.nics_of(from.host);
  const std::span<const uint32_t> peer = fabric.nics_of(to.host);
  return {own[lane % own.size()], peer[lane % peer.size()],
          static_cast<uint16_t>(from.first_source_port + path), to.port};
}

}  // namespace heddle::planner
