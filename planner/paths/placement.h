// Placement: which entropies each flow takes, so that the most loaded link has the least load. Each
// lane of a flow is cut into equal units; a unit takes one path. On a Clos fabric of two tiers with
// equal units a balanced edge coloring places them, elsewhere the least loaded route in order of
// size; then units move off the most loaded link, through chains of other units where needed.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "planner/paths/demand.h"
#include "planner/paths/fabric.h"

namespace heddle::planner {

inline constexpr uint16_t kNoPath = UINT16_MAX;

// A part of a flow's lane.
struct Unit {
  uint32_t flow = 0;
  uint16_t lane = 0;
  uint16_t path = kNoPath;  // that it takes
  double bytes = 0;
};

// Bytes on each direction of each link.
class Loads {
 public:
  Loads(const Fabric& fabric, std::span<const double> background)
      : fabric_(&fabric), bytes_(background.begin(), background.end()) {
    bytes_.resize(fabric.links());
  }

  void add(const Route& route, double bytes) {
    for (const LinkId link : route.links()) bytes_[link] += bytes;
  }
  double bytes(LinkId link) const { return bytes_[link]; }
  // The time that the link takes for its load, ns.
  double time(LinkId link) const { return bytes_[link] / fabric_->rate(link); }
  double time_with(LinkId link, double more) const {
    return (bytes_[link] + more) / fabric_->rate(link);
  }
  // The longest time of a link between switches, and of a NIC's.
  double longest_between() const;
  double longest_of_nics() const;

 private:
  const Fabric* fabric_;
  std::vector<double> bytes_;
};

class Placement {
 public:
  // `fabric` and `demand` must outlive this. `paths`: entropies of a connection.
  Placement(Fabric& fabric, const Demand& demand, uint16_t paths);

  // Cuts each lane into `parts` units and places all anew. `floor`: time below which the most
  // loaded link between switches need not get, ns.
  void place(uint32_t parts, double floor);

  const Loads& loads() const { return loads_; }
  std::span<const Unit> units() const { return units_; }
  // Units that no entropy leads to their receiver.
  uint64_t unreachable() const { return unreachable_; }
  // Whether the coloring applied.
  bool colored() const { return colored_; }
  // Loads where each lane takes its first path (ECMP), or all of its paths equally (spraying).
  Loads loads_of_first_paths();
  Loads loads_of_all_paths();

 private:
  struct Cost {
    double longest = 0;  // time of a link, ns
    double sum = 0;
    bool operator<(const Cost& other) const {
      return longest < other.longest || (longest == other.longest && sum < other.sum);
    }
  };

  uint32_t lanes_of(const FlowDemand& flow) const;
  std::vector<double> lane_bytes(const FlowDemand& flow);
  bool route_of(const Unit& unit, uint16_t path, Route& route) {
    return fabric_.route(key_of(fabric_, demand_, demand_.flows[unit.flow], unit.lane, path),
                         route);
  }
  bool route_of_lane(const FlowDemand& flow, uint32_t lane, uint16_t path, Route& route) {
    return fabric_.route(key_of(fabric_, demand_, flow, lane, path), route);
  }
  void cut(uint32_t parts);
  bool color();
  uint16_t colored_path(const Unit& unit, LinkId up, LinkId down);
  void place_greedily();
  Cost cost_of(const Route& route, double bytes) const;
  uint16_t cheapest_path(const Unit& unit);

  // --- moving ---
  void put(uint32_t unit, uint16_t path);
  void put(uint32_t unit, uint16_t path, const Route& route);
  void lift(uint32_t unit);
  size_t improve(double floor);
  bool relieve(LinkId link, double limit, uint32_t depth);
  bool make_room(uint32_t unit, LinkId off, double limit, uint32_t depth);
  LinkId most_loaded();
  void note(LinkId link);

  Fabric& fabric_;
  const Demand& demand_;
  uint16_t paths_;
  Loads loads_;
  std::vector<Unit> units_;
  std::vector<std::vector<uint32_t>> units_on_;             // by link between switches
  std::priority_queue<std::pair<double, LinkId>> by_time_;  // stale entries are skipped
  std::vector<uint32_t> locked_;                            // units that a chain has moved
  uint32_t tries_ = 0;                                      // left to the present chain
  uint64_t unreachable_ = 0;
  bool colored_ = false;
};

}  // namespace heddle::planner
