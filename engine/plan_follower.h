// PlanFollower: lets an endpoint's connections follow the plan of HEDDLE_PLAN: discovers the routes
// of each one to a peer of the plan, and gives the planned routes' paths their shares. A replaced
// file (`heddle plan lease` does that) is read when the watch of its folder reports it; file and
// routes are looked at again once a minute, and more often for a few seconds after a path failed.
// While a plan is missing, stale or does not fit, paths are chosen adaptively; the log has
// which. Where the network knows its routes, it has the shares itself, and new ones after a change
// of routes. Driven under the endpoint's lock after each turn.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/nanos.h"
#include "engine/failure_looks.h"
#include "engine/known_routes.h"
#include "engine/route_plan.h"
#include "engine/shared_plan.h"
#include "transport/endpoint.h"

namespace heddle::engine {

class PlanFollower {
 public:
  // Both may be null: then there is nothing to follow. `known` must outlive it.
  explicit PlanFollower(std::shared_ptr<SharedPlan> plan, const KnownRoutes* known = nullptr);

  // The plan of a selector "plan:FILE", which this reads; null for any other selector.
  static std::shared_ptr<SharedPlan> plan_of(const std::string& selector);
  // The selector without the file.
  static std::string selector_of(const std::string& selector);
  // The selector that names the file.
  static std::string selector_with(const std::string& file) { return "plan:" + file; }

  // A connection opened, was accepted, or closed.
  void on_notice(Nanos now, const transport::Notice& notice, transport::Endpoint& endpoint);
  // Whether turn() is worth calling.
  bool due(Nanos now) const {
    return next_watch_ <= now || next_found_ <= now || next_look_ <= now || reading() ||
           plan_changed() || routes_changed();
  }
  void turn(Nanos now, transport::Endpoint& endpoint);
  // Whether the file is being read again, on a thread of its own.
  bool reading() const { return shared_ && shared_->reading(); }

 private:
  struct Followed {
    const std::vector<PlannedRoute>* routes = nullptr;  // none: the plan has no flow to the peer
    transport::Address address;
    std::string peer;  // as text
    bool discovering = false;
    bool discovers_again = false;  // routes may have changed since it began
    bool following = false;
    std::vector<transport::PlannedShare> shares;   // that were posted last
    std::optional<transport::FabricRoutes> found;  // the latest routes
  };

  bool plan_changed() const { return shared_ && shared_->number() != plan_number_; }
  bool routes_changed() const {
    return known_ != nullptr && !shared_ && known_->changes() != changes_seen_;
  }
  void follow_known(Nanos now, const transport::Notice& notice, transport::Endpoint& endpoint);
  void fit_known(Nanos now, transport::ConnectionId id, Followed& followed,
                 transport::Endpoint& endpoint);
  // Whether the file was replaced, or a path failed.
  void watch(Nanos now, transport::Endpoint& endpoint);
  // Looks at the file, and at the routes if that is due.
  void look(Nanos now, transport::Endpoint& endpoint);
  // Follows the plan of a replaced file.
  void take_replaced(Nanos now, transport::Endpoint& endpoint);
  void discover(Nanos now, transport::ConnectionId id, Followed& followed,
                transport::Endpoint& endpoint);
  void take_found(Nanos now, transport::Endpoint& endpoint);
  // Follows the plan on the routes that were found. False: it does not fit, and nothing is changed.
  bool fit(Nanos now, transport::ConnectionId id, Followed& followed,
           transport::Endpoint& endpoint);
  void report_misfit(Followed& followed) const;

  const KnownRoutes* known_;
  const std::shared_ptr<SharedPlan> shared_;  // null: there is no plan to follow
  uint32_t plan_number_ = 0;
  std::shared_ptr<const RoutePlan> plan_;  // null: it could not be read
  std::map<transport::ConnectionId, Followed> connections_;
  uint32_t discovering_ = 0;
  uint32_t changes_seen_ = 0;          // of known_
  Nanos next_found_ = Nanos::never();  // while anything is being discovered
  Nanos next_watch_ = Nanos::never();
  Nanos next_look_ = Nanos::never();
  Nanos next_discovery_;      // of all routes
  Nanos discovery_interval_;  // until the one behind it
  FailureLooks failures_;     // of paths, of all connections
};

}  // namespace heddle::engine
