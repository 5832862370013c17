// Routes: for every switch and destination, the first links of all shortest routes, and the ECMP
// choice among them. Each switch hashes source, destination and entropy with its own seed, as real
// ones do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/pool.h"
#include "simulator/packet.h"
#include "topology/topology.h"

namespace heddle::simulator {

// One direction of link i of a topology: 2 i from its end a, 2 i + 1 from its end b.
using LinkId = uint32_t;
// A NIC's index; switch s has number of NICs + s.
using NodeId = uint32_t;

NodeId node_id(const topology::Topology& topology, const topology::Node& node);
NodeId end_of(const topology::Topology& topology, LinkId link);
NodeId start_of(const topology::Topology& topology, LinkId link);

class Routes {
 public:
  // Errors: kInvalid if the topology's routes would take more than 4 GiB; `name` is its name in the
  // error.
  static Result<void> check(const topology::Topology& topology, const std::string& name);

  // `down`: by link, whether routes avoid its cable; empty: none is down.
  explicit Routes(const topology::Topology& topology, std::span<const uint8_t> down = {});

  // The link from a NIC.
  LinkId egress(NicId nic) const { return egress_[nic]; }
  // Equal-cost links of `switch_index` towards `nic`; none if it is unreachable.
  std::span<const LinkId> next_links(uint32_t switch_index, NicId nic) const;

  // The index, of `choices` (at least one), that a switch with this seed chooses.
  static uint32_t choose(uint32_t choices, uint64_t seed, const Packet& packet);

 private:
  struct Group {
    uint32_t first = 0;
    uint32_t count = 0;
  };

  void add_ways_to(const topology::Topology& topology, uint32_t target,
                   std::span<const std::vector<LinkId>> links_out);

  uint32_t switches_ = 0;
  std::vector<LinkId> egress_;
  std::vector<uint32_t> switch_of_nic_;  // kNoIndex: connected to another NIC
  std::vector<LinkId> last_link_;        // from that switch to the NIC
  std::vector<Group> groups_;            // [switch x target switch]
  std::vector<LinkId> links_;
};

}  // namespace heddle::simulator
