// Balancer: the choice among equal-cost links in switches that do more than hash (ECMP stays with
// Routes): flowlets, spraying, and adaptive routing. The network calls it for each packet with a
// choice; switches with ECMP cost nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/nanos.h"
#include "base/random.h"
#include "simulator/link.h"
#include "simulator/outlets.h"
#include "simulator/packet.h"
#include "simulator/params.h"
#include "simulator/routes.h"
#include "topology/topology.h"

namespace heddle::simulator {

class Balancer {
 public:
  // Of a switch's flowlet table; packets whose hashes meet in one share a flowlet.
  static constexpr uint32_t kFlowletEntries = params::kFlowletEntries;

  // Links and outlets are the network's and must outlive it.
  Balancer(const topology::Topology& topology, std::vector<Link>& links, Outlets& outlets,
           uint64_t seed);

  // Whether the switch does more than hash.
  bool balances(uint32_t switch_index) const {
    return !switches_.empty() && switches_[switch_index].mode != topology::Balancing::kEcmp;
  }
  // The link of `choices`, at least one, for a packet that arrives now. Only where balances().
  LinkId choose(Nanos now, uint32_t switch_index, std::span<const LinkId> choices,
                const Packet& packet);

 private:
  struct Flowlet {
    Nanos last = nanos(-1);  // arrival of its latest packet; negative: none
    LinkId link = kNoIndex;
  };
  struct SwitchState {
    topology::Balancing mode = topology::Balancing::kEcmp;
    Nanos gap;
    uint64_t seed = 0;
    std::vector<Flowlet> flowlets;
  };

  LinkId any(std::span<const LinkId> choices) { return choices[random_.below(choices.size())]; }
  LinkId shortest_queue(Nanos now, std::span<const LinkId> choices);
  LinkId of_flowlet(Nanos now, SwitchState& state, std::span<const LinkId> choices,
                    const Packet& packet);

  std::vector<Link>& links_;
  Outlets& outlets_;
  Random random_;
  std::vector<SwitchState> switches_;  // empty where all hash
};

}  // namespace heddle::simulator
