// A plan's shares for connections that it does not name. A plan has the paths of the processes that
// carry flows; packets of a host's other processes have other ports, which switches hash to other
// routes. As on real networks (engine/route_plan.h) the plan stands for routes then, and a
// connection gives their shares to those of its paths that take them. For tenants of a FlowRun.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/network.h"
#include "topology/ecmp.h"
#include "transport/endpoint.h"

namespace heddle::simulator {

// What packets of a connection's paths carry: path i goes over a pair of NICs, as
// planner/paths/demand.h has it.
struct PathEnds {
  std::span<const NicId> from;  // a host's, as are `to`
  std::span<const NicId> to;
  uint16_t first_source_port = topology::kFirstSourcePort;
  uint16_t port = topology::kFlowPort;  // where they are received
};

// The shares of a connection of `paths` paths with these ends, from the `planned` ones of the paths
// between the same hosts' processes of flows. Switches hash (topology/ecmp.h) among the network's
// present routes; what only the switches at a cable's ends know of it does not count. None: more
// than a tenth of the payload is planned for routes that no path takes.
std::vector<transport::PlannedShare> fitted_shares(
    const Network& network, const PathEnds& ends, uint16_t paths,
    std::span<const transport::PlannedShare> planned);

}  // namespace heddle::simulator
