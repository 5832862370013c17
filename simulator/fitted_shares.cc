// See fitted_shares.h.
#include "simulator/fitted_shares.h"

#include <algorithm>

#include "engine/route_plan.h"

namespace heddle::simulator {
namespace {

topology::EcmpKey key_of(const PathEnds& ends, uint16_t paths, uint16_t path) {
  const size_t pairs = std::min<size_t>(std::max(ends.from.size(), ends.to.size()), paths);
  const size_t pair = path % pairs;
  return {ends.from[pair % ends.from.size()], ends.to[pair % ends.to.size()],
          static_cast<uint16_t>(ends.first_source_port + path), ends.port};
}

// The links that packets take, in the order of travel; none: there is no route.
std::vector<LinkId> route_of(const Network& network, const topology::EcmpKey& key) {
  const topology::Topology& topology = network.topology();
  const auto nics = static_cast<NodeId>(topology.nics.size());
  std::vector<LinkId> links = {network.routes().egress(key.from_nic)};
  for (NodeId at = end_of(topology, links.back()); at >= nics;
       at = end_of(topology, links.back())) {
    const std::span<const LinkId> choices = network.routes().next_links(at - nics, key.to_nic);
    if (choices.empty()) return {};
    links.push_back(choices[topology::ecmp_choice(static_cast<uint32_t>(choices.size()),
                                                  topology.switches[at - nics].hash_seed, key)]);
  }
  return links;
}

}  // namespace

std::vector<transport::PlannedShare> fitted_shares(
    const Network& network, const PathEnds& ends, uint16_t paths,
    std::span<const transport::PlannedShare> planned) {
  const PathEnds of_flows{.from = ends.from, .to = ends.to};
  std::vector<std::vector<LinkId>> links;
  std::vector<engine::TakenRoute> routes;
  for (const transport::PlannedShare& each : planned) {
    std::vector<LinkId> route = route_of(network, key_of(of_flows, paths, each.path));
    const auto same = std::find(links.begin(), links.end(), route);
    if (same != links.end()) {
      routes[static_cast<size_t>(same - links.begin())].share_per_million += each.share_per_million;
    } else {
      links.push_back(std::move(route));
      routes.push_back({each.share_per_million, {}});
    }
  }
  for (uint16_t path = 0; path < paths; ++path) {
    const std::vector<LinkId> route = route_of(network, key_of(ends, paths, path));
    const auto taken = std::find(links.begin(), links.end(), route);
    if (route.empty() || taken == links.end()) continue;
    routes[static_cast<size_t>(taken - links.begin())].paths.push_back(path);
  }
  return engine::shares_of_paths(routes);
}

}  // namespace heddle::simulator
