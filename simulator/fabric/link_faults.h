// LinkFaultDraws: the faults of each direction of a simulated link, and the generators that draw
// them: one a direction, so that faults of one link change nothing on others.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "simulator/packet.h"
#include "simulator/routes.h"
#include "topology/topology.h"

namespace heddle::simulator {

class LinkFaultDraws {
 public:
  // Of the next link, in the order of their ids.
  void add(const topology::LinkFaults& faults, const Random& random) {
    states_.push_back({faults, random});
  }
  void set(LinkId link, const topology::LinkFaults& faults) { states_[link].faults = faults; }

  // Also draws ECN marks on that link.
  Random& random(LinkId link) { return states_[link].random; }
  // Whether the next packet arrives twice.
  bool duplicates(LinkId link);
  // Applies faults to a packet; returns which bytes were corrupted.
  struct Corrupted {
    bool header = false;
    bool payload = false;
  };
  Corrupted apply(LinkId link, Packet& packet, PacketStore& packets);

 private:
  struct State {
    topology::LinkFaults faults;
    Random random;

    bool hits(uint32_t per_million) {
      return per_million > 0 && random.chance_per_million(per_million);
    }
  };

  std::vector<State> states_;
};

}  // namespace heddle::simulator
