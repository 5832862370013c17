// GroupPlan: the plan of lanes that share no link between switches with others: their routes, what
// takes longest without a plan, and the routes that are chosen. See lane_groups.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/path_plan.h"
#include "planner/paths/loads.h"
#include "planner/paths/regular_clos.h"
#include "planner/paths/route_choice.h"
#include "planner/paths/route_table.h"

namespace heddle::planner {

class GroupPlan {
 public:
  // Hashes the routes. `fabric` and `demand` must outlive this.
  GroupPlan(Fabric& fabric, const Demand& demand, std::vector<Lane> lanes, uint16_t paths,
            LinkScratch& scratch);
  // It has views of itself.
  GroupPlan(const GroupPlan&) = delete;
  GroupPlan& operator=(const GroupPlan&) = delete;

  const RouteTable& table() const { return table_; }
  // Times of the most loaded link between switches, ns: each lane on its first path, as one
  // connection of one path a lane is; each evenly on all; and at best, by cuts.
  double on_first_paths() const { return on_first_paths_; }
  double on_all_paths() const { return on_all_paths_; }
  double cut_bound() const { return cut_bound_; }
  uint64_t unreachable() const { return unreachable_; }  // lanes
  bool any_choice() const { return any_choice_; }        // a lane has two routes

  // Chooses the lanes' routes: see RouteChoice.
  void choose(const RegularClos* clos, double floor, uint32_t most_parts);
  // After choose().
  const RouteChoice& choice() const { return *choice_; }
  // Whether it has lengths for a bound.
  bool has_lengths() const { return choice_ && !choice_->lengths().empty(); }

 private:
  RouteTable table_;
  std::vector<double> others_;  // bytes by link of the table
  Loads fixed_;
  std::optional<RouteChoice> choice_;
  double on_first_paths_ = 0;
  double on_all_paths_ = 0;
  double cut_bound_ = 0;
  uint64_t unreachable_ = 0;
  bool any_choice_ = false;
};

}  // namespace heddle::planner
