// Forwarding: the link on which a switch of a simulated network forwards a packet: the routes, the
// links that their switches know to be down, and the choice among those that remain.
#pragma once

#include <cstdint>
#include <vector>

#include "base/nanos.h"
#include "simulator/balancer.h"
#include "simulator/link.h"
#include "simulator/outlets.h"
#include "simulator/packet.h"
#include "simulator/routes.h"
#include "topology/topology.h"

namespace heddle::simulator {

class Forwarding {
 public:
  // All must outlive it.
  Forwarding(const topology::Topology& topology, std::vector<Link>& links, Outlets& outlets,
             uint64_t seed);

  const Routes& routes() const { return routes_; }
  // A switch excludes links that it knows to be down, like a real port group. kNoIndex: no route.
  LinkId next_link(Nanos now, uint32_t switch_index, const Packet& packet);
  // The switch at a link's begin knows its state from now on; true: that is news.
  bool note_down(LinkId link, bool down);
  // All routes avoid the links that are known to be down.
  void converge() {
    routes_ = Routes(topology_, noticed_down_);
    ++route_changes_;
  }
  uint32_t route_changes() const { return route_changes_; }

 private:
  const topology::Topology& topology_;
  Routes routes_;
  Balancer balancer_;
  std::vector<uint8_t> noticed_down_;  // per link
  uint32_t noticed_ = 0;               // number of links with noticed_down_ set
  uint32_t route_changes_ = 0;
  std::vector<uint64_t> hash_seeds_;  // per switch
  std::vector<LinkId> live_choices_;  // scratch of next_link()
};

}  // namespace heddle::simulator
