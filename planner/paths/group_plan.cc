// See group_plan.h.
#include "planner/paths/group_plan.h"

#include <utility>

#include "planner/paths/bound.h"

namespace heddle::planner {
namespace {

// Of a table's links.
std::vector<double> others_on(const RouteTable& table, std::span<const double> background) {
  if (background.empty()) return {};
  std::vector<double> others;
  others.reserve(table.own_links().size());
  for (const LinkId link : table.own_links()) others.push_back(background[link]);
  return others;
}

double longest_on_first_paths(const RouteTable& table, Loads loads) {
  for (uint32_t i = 0; i < table.size(); ++i) {
    if (table.options_of(i) > 0) loads.add(table.links(i, 0), table.lane(i).bytes);
  }
  return loads.longest_between();
}

double longest_on_all_paths(const RouteTable& table, Loads loads) {
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t paths = 0;
    for (const RouteOption& option : table.options(i)) paths += option.paths;
    for (uint32_t option = 0; option < table.options_of(i); ++option) {
      const double share = static_cast<double>(table.options(i)[option].paths) / paths;
      loads.add(table.links(i, option), table.lane(i).bytes * share);
    }
  }
  return loads.longest_between();
}

}  // namespace

GroupPlan::GroupPlan(Fabric& fabric, const Demand& demand, std::vector<Lane> lanes, uint16_t paths,
                     LinkScratch& scratch)
    : table_(fabric, demand, std::move(lanes), paths, scratch),
      others_(others_on(table_, demand.background)),
      fixed_(table_.space(), others_),
      on_first_paths_(longest_on_first_paths(table_, fixed_)),
      on_all_paths_(longest_on_all_paths(table_, fixed_)),
      cut_bound_(planner::cut_bound(table_, demand.background)) {
  for (uint32_t i = 0; i < table_.size(); ++i) {
    unreachable_ += table_.options_of(i) == 0 ? 1 : 0;
    any_choice_ |= table_.options_of(i) > 1;
  }
}

void GroupPlan::choose(const RegularClos* clos, double floor, uint32_t most_parts) {
  choice_.emplace(table_, fixed_, clos);
  choice_->choose(floor, most_parts);
}

}  // namespace heddle::planner
