// PlanFollower: lets an endpoint's connections follow the plan of HEDDLE_PLAN: discovers the routes
// of each one to a peer of the plan, gives the planned routes' paths their shares, and looks again
// from time to time, at the routes and at the file: `heddle plan lease` replaces it. While a plan
// is missing, stale or does not fit, paths are chosen adaptively; the log has which. Where the
// network knows its routes, it has the shares itself, and new ones after a change of routes. Driven
// under the endpoint's lock after each turn.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/nanos.h"
#include "engine/known_routes.h"
#include "engine/plan_reader.h"
#include "engine/route_plan.h"
#include "transport/endpoint.h"

namespace heddle::engine {

class PlanFollower {
 public:
  // Reads the plan of a selector "plan:FILE". Any other selector: there is nothing to follow but
  // `known`, which may be null and must outlive it.
  explicit PlanFollower(const std::string& selector, const KnownRoutes* known = nullptr);

  // The selector without the file.
  static std::string selector_of(const std::string& selector);
  // The selector that names the file.
  static std::string selector_with(const std::string& file) { return "plan:" + file; }

  // A connection opened, was accepted, or closed.
  void on_notice(Nanos now, const transport::Notice& notice, transport::Endpoint& endpoint);
  // Whether turn() is worth calling.
  bool due(Nanos now) const {
    return next_found_ <= now || next_look_ <= now || reading() || routes_changed();
  }
  void turn(Nanos now, transport::Endpoint& endpoint);
  // Whether the file is being read again, on a thread of its own.
  bool reading() const { return reader_ && reader_->reading(); }

 private:
  struct Followed {
    const std::vector<PlannedRoute>* routes = nullptr;  // none: the plan has no flow to the peer
    transport::Address address;
    std::string peer;  // as text
    bool discovering = false;
    bool following = false;
  };

  bool routes_changed() const {
    return known_ != nullptr && !reader_ && known_->changes() != changes_seen_;
  }
  void follow_known(Nanos now, const transport::Notice& notice, transport::Endpoint& endpoint);
  void fit_known(Nanos now, transport::ConnectionId id, Followed& followed,
                 transport::Endpoint& endpoint);
  // Follows what was read of a replaced file; what cannot be read leaves the plan as it is.
  void take_replaced(Nanos now, transport::Endpoint& endpoint);
  void discover(Nanos now, transport::ConnectionId id, Followed& followed,
                transport::Endpoint& endpoint);
  void fit(Nanos now, transport::ConnectionId id, Followed& followed,
           const transport::FabricRoutes& found, transport::Endpoint& endpoint);

  const KnownRoutes* known_;
  std::string file_;
  std::unique_ptr<PlanReader> reader_;  // none: there is nothing to follow
  std::optional<RoutePlan> plan_;
  std::map<transport::ConnectionId, Followed> connections_;
  uint32_t discovering_ = 0;
  uint32_t changes_seen_ = 0;          // of known_
  Nanos next_found_ = Nanos::never();  // while anything is being discovered
  Nanos next_look_ = Nanos::never();
};

}  // namespace heddle::engine
