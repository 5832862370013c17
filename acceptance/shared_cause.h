// Shared cause: the host, or the links, that pairs of hosts with the same trouble have in common.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "acceptance/fabric_bounds.h"

namespace heddle::acceptance {

// The one host that is in every bad pair and in no good one; nothing if there is none, or two.
std::optional<uint32_t> host_behind(const std::vector<HostPair>& bad,
                                    const std::vector<HostPair>& all);

// The one host that every bad pair goes to and no good one: it may send, but nothing arrives there.
// Nothing of a single pair, whose way may be the cause.
std::optional<uint32_t> host_not_reached(const std::vector<HostPair>& bad,
                                         const std::vector<HostPair>& all);

// A route that a traceroute found: the switch at each hop, nothing for one that did not answer.
struct SeenRoute {
  std::vector<std::optional<uint32_t>> switches;
  bool works = true;
};

// The links of a lost route on which its packets may have vanished: behind the last switch that
// answered, and on no route that works. Empty: none is left.
std::vector<LinkUse> links_behind(const topology::Topology& topology, const HostPair& pair,
                                  const std::vector<SeenRoute>& routes);

}  // namespace heddle::acceptance
