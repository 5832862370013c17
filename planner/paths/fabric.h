// Fabric: a topology prepared for path planning: the equal-cost links from a switch towards
// another, and the route that a flow's entropy takes, hashed as the simulator's switches do. Routes
// are computed when they are first needed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "planner/paths/params.h"
#include "topology/ecmp.h"
#include "topology/topology.h"

namespace heddle::planner {

// One direction of link i of a topology: 2 i from its end a, 2 i + 1 from its end b.
using LinkId = uint32_t;
inline constexpr uint32_t kNone = UINT32_MAX;

// Links by number, of which loads are counted: their rates, and whether they are between switches.
// What it views must outlive it.
struct LinkSpace {
  std::span<const double> rates;  // bytes per nanosecond
  std::span<const uint8_t> between;

  uint32_t size() const { return static_cast<uint32_t>(rates.size()); }
};

// The links of a route in the order of travel, the NICs' own links included.
class Route {
 public:
  static constexpr uint32_t kMostLinks = params::kMostRouteLinks;

  void clear() { count_ = 0; }
  bool push(LinkId link) {
    if (count_ == kMostLinks) return false;
    links_[count_++] = link;
    return true;
  }
  std::span<const LinkId> links() const { return {links_.data(), count_}; }
  // Those between switches: what the choice of an entropy can change.
  std::span<const LinkId> between() const {
    return count_ < 2 ? std::span<const LinkId>() : links().subspan(1, count_ - 2u);
  }
  bool operator==(const Route& other) const {
    return std::equal(links().begin(), links().end(), other.links().begin(), other.links().end());
  }

 private:
  std::array<LinkId, kMostLinks> links_{};
  uint32_t count_ = 0;
};

class Fabric {
 public:
  // `topology` must be valid and outlive this. Links in `failed` are down, and all switches have
  // routes without them, as with a routing protocol that has settled.
  Fabric(const topology::Topology& topology, std::span<const uint32_t> failed);

  const topology::Topology& topology() const { return topology_; }
  uint32_t links() const { return static_cast<uint32_t>(rates_.size()); }  // directions
  // Bytes per nanosecond; infinite for a link without a rate.
  double rate(LinkId link) const { return rates_[link]; }
  bool down(LinkId link) const { return down_[link] != 0; }
  // From now on the cable is down, or works again.
  void set_down(uint32_t cable, bool down);
  // From now on the cable has this rate in both directions.
  void set_rate(uint32_t cable, BitsPerSec rate);
  bool any_down() const { return failed_ > 0; }
  bool is_between_switches(LinkId link) const { return between_[link] != 0; }
  LinkSpace space() const { return {rates_, between_}; }

  // The switch of a NIC; kNone where its cable ends at another NIC.
  uint32_t switch_of(uint32_t nic) const { return switch_of_nic_[nic]; }
  LinkId egress(uint32_t nic) const { return egress_[nic]; }
  LinkId ingress(uint32_t nic) const { return egress_[nic] ^ 1; }
  // The NICs of a host, in their order.
  std::span<const uint32_t> nics_of(uint32_t host) const {
    return std::span(nics_).subspan(first_nic_[host], first_nic_[host + 1] - first_nic_[host]);
  }
  std::span<const LinkId> links_from(uint32_t switch_index) const {
    return std::span(links_out_)
        .subspan(first_out_[switch_index], first_out_[switch_index + 1] - first_out_[switch_index]);
  }
  // The switch where a link ends; kNone: a NIC.
  uint32_t end_of(LinkId link) const { return to_[link]; }
  uint32_t start_of(LinkId link) const { return from_switch_[link]; }

  // Equal-cost links from a switch towards another over links that work, in the order in which the
  // hash counts them; none if it is unreachable. Valid until set_down().
  std::span<const LinkId> next(uint32_t from, uint32_t target);

  // The route of packets with these NICs and ports. False: there is none.
  bool route(const topology::EcmpKey& key, Route& route);
  // Hops of the shortest route from each switch to `target` over all cables, working or not.
  // UINT16_MAX: there is none.
  const std::vector<uint16_t>& distances_to(uint32_t target);
  // The links of a shortest route over all cables, working or not. kNone: there is none.
  uint32_t shortest_hops(uint32_t from, uint32_t target);

 private:
  // Links of one switch to one neighbor: a range of links_to_.
  struct Neighbor {
    uint32_t index = 0;
    uint32_t first = 0;
    uint32_t count = 0;
  };

  void sort_neighbors();
  std::span<const Neighbor> neighbors(uint32_t switch_index) const {
    return std::span(neighbors_)
        .subspan(first_neighbor_[switch_index],
                 first_neighbor_[switch_index + 1] - first_neighbor_[switch_index]);
  }
  const Neighbor* find_neighbor(uint32_t from, uint32_t to) const;
  // The links from a switch to its neighbor; none: it is none.
  std::span<const LinkId> direct(uint32_t from, uint32_t to) const;
  // As next(), of shortest routes over all cables, working or not.
  std::span<const LinkId> next_of_all(uint32_t from, uint32_t target);
  std::span<const LinkId> search(uint32_t from, uint32_t target);
  // Of next_of_all(), those with a working route of the same length; then those of a longer one.
  std::span<const LinkId> live_shortest(uint32_t from, uint32_t target);
  std::span<const LinkId> detour(uint32_t from, uint32_t target);
  std::vector<uint16_t> distances(uint32_t target, bool live) const;

  const topology::Topology& topology_;
  std::vector<double> rates_;
  std::vector<uint8_t> down_;
  std::vector<uint8_t> between_;
  std::vector<uint32_t> from_switch_;
  std::vector<uint32_t> to_;
  std::vector<LinkId> egress_;
  std::vector<uint32_t> switch_of_nic_;
  std::vector<uint32_t> first_nic_;
  std::vector<uint32_t> nics_;
  std::vector<uint32_t> first_out_;
  std::vector<LinkId> links_out_;    // between switches, by switch and number
  std::vector<uint32_t> failed_at_;  // links out of a switch that are down
  uint32_t failed_ = 0;              // directions that are down
  std::vector<uint32_t> first_neighbor_;
  std::vector<Neighbor> neighbors_;  // by switch and neighbor
  std::vector<LinkId> links_to_;
  std::vector<LinkId> links_back_;  // of each of links_to_, the other direction
  std::vector<uint64_t> class_;     // switches with equal neighbors have equal classes
  std::unordered_map<uint64_t, std::vector<LinkId>> known_;  // by switch and target
  std::unordered_map<uint32_t, std::vector<uint16_t>> distances_;
  std::unordered_map<uint64_t, std::vector<LinkId>> live_;     // by switch and target; likewise
  std::unordered_map<uint64_t, std::vector<LinkId>> detours_;  // of the failures now
};

}  // namespace heddle::planner
