// See routes.h. A breadth-first search from every NIC, over switches only: hosts do not forward.
#include "lab/routes.h"

#include <deque>

namespace heddle::lab {
namespace {

constexpr uint32_t kFar = UINT32_MAX;

struct Search {
  const Layout& layout;
  const std::vector<bool>& up;

  // The number of hops from every place to a NIC.
  std::vector<uint32_t> distances(uint32_t nic_port) const {
    std::vector<uint32_t> hops(layout.places.size(), kFar);
    const Port& start = layout.ports[nic_port];
    if (!up[start.link]) return hops;
    hops[start.peer_place] = 1;
    std::deque<uint32_t> next = {start.peer_place};
    while (!next.empty()) {
      const uint32_t at = next.front();
      next.pop_front();
      if (!layout.places[at].is_switch) continue;
      for (const uint32_t i : layout.places[at].ports) {
        const Port& port = layout.ports[i];
        if (!up[port.link] || hops[port.peer_place] != kFar) continue;
        hops[port.peer_place] = hops[at] + 1;
        next.push_back(port.peer_place);
      }
    }
    return hops;
  }
};

}  // namespace

NextHops next_hops(const Layout& layout, const std::vector<bool>& up) {
  const size_t nics = layout.topology.nics.size();
  NextHops hops(layout.places.size());
  for (Place const& place : layout.places) {
    if (place.is_switch) hops[static_cast<size_t>(&place - layout.places.data())].resize(nics);
  }
  const Search search{layout, up};
  for (const Place& host : layout.places) {
    if (host.is_switch) continue;
    for (const uint32_t nic_port : host.ports) {
      const uint32_t nic = layout.ports[nic_port].nic;
      const std::vector<uint32_t> distance = search.distances(nic_port);
      for (uint32_t at = 0; at < layout.places.size(); ++at) {
        if (!layout.places[at].is_switch || distance[at] == kFar) continue;
        if (distance[at] == 1) {
          hops[at][nic].push_back(nic_port ^ 1);
          continue;
        }
        for (const uint32_t i : layout.places[at].ports) {
          const Port& port = layout.ports[i];
          if (!up[port.link] || !layout.places[port.peer_place].is_switch) continue;
          if (distance[port.peer_place] == distance[at] - 1) hops[at][nic].push_back(i);
        }
      }
    }
  }
  return hops;
}

}  // namespace heddle::lab
