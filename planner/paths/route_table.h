// RouteTable: the routes that the entropies of each lane take, hashed once. Placement, shares and
// loads work on it, so none of them asks the fabric's hash again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/paths/demand.h"
#include "planner/paths/fabric.h"

namespace heddle::planner {

// What a flow sends from one NIC to one NIC of the peer, at once: see demand.h.
struct Lane {
  uint32_t flow = 0;
  uint16_t lane = 0;
  uint16_t lanes = 1;  // of the flow
  uint32_t from_nic = 0;
  uint32_t to_nic = 0;
  double bytes = 0;
};

// A lane carries as much as the slower of its two NICs allows; none where a cable is down, unless
// all are. Ordered by flow and lane.
std::vector<Lane> lanes_of_demand(const Fabric& fabric, const Demand& demand, uint16_t paths);
// Appends those of one flow, an index.
void add_lanes_of_flow(const Fabric& fabric, const Demand& demand, uint32_t flow, uint16_t paths,
                       std::vector<Lane>& lanes);

// A route of a lane, and the entropies that lead there.
struct RouteOption {
  uint16_t path = 0;   // the first of them
  uint16_t paths = 1;  // their number
};

// By link of a fabric, all kNone: what a table needs only while it is made. Tables that are made
// one after another can share it.
using LinkScratch = std::vector<uint32_t>;

class RouteTable {
 public:
  // Routes of `lanes` with `paths` entropies of a connection. Only links between switches: the
  // others are those of the lane's NICs. They are numbered from 0 in the order of the fabric's,
  // those alone that an option takes: what works on the table then takes time by its lanes, and not
  // by the fabric's links.
  RouteTable(Fabric& fabric, const Demand& demand, std::vector<Lane> lanes, uint16_t paths,
             LinkScratch& scratch);

  LinkSpace space() const { return {own_rates_, own_between_}; }
  // The fabric's links, by their numbers in the table.
  std::span<const LinkId> own_links() const { return own_links_; }

  const Fabric& fabric() const { return fabric_; }
  uint32_t size() const { return static_cast<uint32_t>(lanes_.size()); }
  const Lane& lane(uint32_t index) const { return lanes_[index]; }
  std::span<const Lane> lanes() const { return lanes_; }
  // None: no entropy leads to the receiver.
  std::span<const RouteOption> options(uint32_t lane) const {
    return std::span(options_).subspan(first_option_[lane], options_of(lane));
  }
  // Over all lanes, options are numbered from 0.
  size_t first_option(uint32_t lane) const { return first_option_[lane]; }
  uint32_t options_of(uint32_t lane) const {
    return static_cast<uint32_t>(first_option_[lane + 1] - first_option_[lane]);
  }
  size_t all_options() const { return options_.size(); }
  // By the table's numbers, in the order of travel; equally many for all options of a lane.
  std::span<const LinkId> links(uint32_t lane, uint32_t option) const {
    const size_t hops = hops_[lane];
    return std::span(links_).subspan(first_link_[lane] + option * hops, hops);
  }
  // Of all its options, one after another.
  std::span<const LinkId> links(uint32_t lane) const {
    return std::span(links_).subspan(first_link_[lane], size_t{hops_[lane]} * options_of(lane));
  }
  uint32_t hops(uint32_t lane) const { return hops_[lane]; }

 private:
  void add_options(Fabric& fabric, const Demand& demand, const Lane& lane, uint16_t paths);
  bool merge(std::span<const LinkId> links);
  void add_all(Fabric& fabric, const Demand& demand, uint16_t paths);
  void number_own_links(LinkScratch& scratch);

  const Fabric& fabric_;
  std::vector<Lane> lanes_;
  std::vector<size_t> first_option_;
  std::vector<size_t> first_link_;
  std::vector<uint8_t> hops_;
  std::vector<RouteOption> options_;
  std::vector<LinkId> links_;
  std::vector<LinkId> own_links_;
  std::vector<double> own_rates_;
  std::vector<uint8_t> own_between_;
  // While options are added: the newest option of the present lane that begins with a link, and the
  // one before it.
  std::vector<uint32_t> newest_;
  std::vector<uint32_t> before_;
};

}  // namespace heddle::planner
