// LaneIndex: lanes by their switches, and flows by their hosts: which of them a change of one cable
// concerns, found without a look at the others.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/paths/fabric.h"
#include "planner/paths/route_table.h"

namespace heddle::planner {

// A lane of a flow, by its number.
struct LaneRef {
  uint32_t flow = 0;
  uint16_t lane = 0;

  auto operator<=>(const LaneRef&) const = default;
};

class LaneIndex {
 public:
  // `fabric` must outlive this.
  explicit LaneIndex(Fabric& fabric);

  // Every lane that the flow can have, those without bytes, too.
  void add(const Demand& demand, uint32_t flow, uint16_t paths);
  void remove(const Demand& demand, uint32_t flow, uint16_t paths);

  // Appends the lanes of which a shortest route, over all cables, crosses this one between
  // switches: a switch that loses or gets back a link hashes the flows of all its links anew.
  void find_lanes(uint32_t cable, std::vector<LaneRef>& lanes) const;
  // The flows of a host, in no order.
  const std::vector<uint32_t>& flows_of(uint32_t host) const { return of_host_[host]; }

 private:
  struct End {
    LaneRef lane;
    uint32_t other = 0;  // switch
  };
  // Hops from a switch to those that are near it.
  class Near;

  template <typename Use>
  void for_each_lane(const Demand& demand, uint32_t flow, uint16_t paths, Use use) const;
  void find_crossing(const Near& to_start, const Near& to_end, std::vector<LaneRef>& lanes) const;

  Fabric& fabric_;
  std::vector<std::vector<End>> from_;  // by switch
  std::vector<std::vector<End>> to_;
  std::vector<std::vector<uint32_t>> of_host_;
  uint32_t most_hops_ = 0;  // of a lane's shortest route
};

}  // namespace heddle::planner
