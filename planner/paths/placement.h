// Placement: one route for each lane, so that the most loaded link has the least load. On a Clos
// fabric of two tiers with equal lanes a balanced edge coloring places them, elsewhere the least
// loaded route in order of size; then lanes move off the most loaded link, through chains of other
// lanes where needed.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "planner/paths/loads.h"
#include "planner/paths/regular_clos.h"
#include "planner/paths/route_table.h"

namespace heddle::planner {

class Placement {
 public:
  // `table` and `clos` must outlive this. `background`: loads of others, by the table's links.
  // `clos`: the fabric's shape, by which lanes are colored; null: they are not.
  Placement(const RouteTable& table, const Loads& background, const RegularClos* clos);

  // Places all lanes. `floor`: time below which the most loaded link between switches need not get,
  // ns.
  void place(double floor);

  const Loads& loads() const { return loads_; }
  // The option of a lane; kNone: no entropy leads to its receiver.
  uint32_t chosen(uint32_t lane) const { return chosen_[lane]; }
  // Whether the coloring applied.
  bool colored() const { return colored_; }

 private:
  struct Cost {
    double longest = 0;  // time of a link, ns
    double sum = 0;
    uint32_t turn = 0;  // of the first link, by turn_of_
    auto operator<=>(const Cost&) const = default;
  };

  void number_links();
  bool color();
  void place_greedily();
  Cost cost_of(std::span<const LinkId> links, double bytes) const;
  uint32_t cheapest(uint32_t lane) const;

  // --- moving ---
  void put(uint32_t lane, uint32_t option);
  void lift(uint32_t lane);
  void improve(double floor);
  bool relieve(LinkId link, double limit, uint32_t depth);
  bool make_room(uint32_t lane, LinkId off, double limit, uint32_t depth);
  LinkId most_loaded();
  void note(LinkId link) { by_time_.emplace(loads_.time(link), link); }

  const RouteTable& table_;
  const RegularClos* clos_;
  Loads loads_;
  bool has_others_ = false;  // load that is not the table's own between switches
  // By link: where it stands among those of its switch, counted from `first_place_` on. Of links
  // with equal loads leaves with equal uplinks take the same: a job of one flow a leaf takes one
  // spine, and leaves the others whole for jobs that come later. Jobs that do not know of each
  // other draw their first place by their NICs.
  std::vector<uint32_t> turn_of_;
  uint64_t first_place_ = 0;                                // modulo the links of a switch
  std::vector<uint32_t> chosen_;                            // by lane
  std::vector<std::vector<uint32_t>> lanes_on_;             // by link between switches
  std::priority_queue<std::pair<double, LinkId>> by_time_;  // stale entries are skipped
  std::vector<uint32_t> locked_;                            // lanes that a chain has moved
  uint32_t tries_ = 0;                                      // left to the present chain
  bool colored_ = false;
};

}  // namespace heddle::planner
