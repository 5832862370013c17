// RouteChoice: the routes that each lane of a table takes: one where that is near a floor, else
// shares of several. Plans of all flows and of those that a change moves choose by it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/path_plan.h"
#include "planner/paths/placement.h"
#include "planner/paths/shares.h"

namespace heddle::planner {

class RouteChoice {
 public:
  // `table`, `fixed`, the loads of others by the table's links, and `clos` must outlive this. The
  // latter: see Placement.
  RouteChoice(const RouteTable& table, const Loads& fixed, const RegularClos* clos)
      : table_(table), fixed_(fixed), placement_(table, fixed, clos) {}

  // `floor`: time below which the most loaded link between switches need not get, ns.
  void choose(double floor, uint32_t most_parts);

  // Calls use(option, share) for the lane's routes; shares sum to 1.
  template <typename Use>
  void for_each(uint32_t lane, Use use) const {
    if (shares_) return shares_->for_each(lane, use);
    if (placement_.chosen(lane) != kNone) use(placement_.chosen(lane), 1.0);
  }
  const Loads& loads() const { return shares_ ? shares_->loads() : placement_.loads(); }
  // The time of the most loaded link that carries something of the lanes, ns.
  double longest() const { return longest_; }
  bool colored() const { return !shares_ && placement_.colored(); }
  // Routes that a lane takes at most.
  uint32_t parts() const;
  // Of links, by prices, for a lower bound; none: shares were not tried.
  const std::vector<double>& lengths() const { return lengths_; }

 private:
  const RouteTable& table_;
  const Loads& fixed_;
  Placement placement_;
  std::optional<Shares> shares_;  // where they are better
  std::vector<double> lengths_;
  double longest_ = 0;
};

struct PathBytes {
  uint16_t path = 0;
  double bytes = 0;
};

// Sorts the paths. Shares by bytes, rounded so that their sum is `whole` per million.
std::vector<PlannedPath> shares_of(std::vector<PathBytes>& paths, uint32_t whole);

}  // namespace heddle::planner
