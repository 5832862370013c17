// See plan_follower.h.
#include "engine/plan_follower.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "engine/addresses.h"

namespace heddle::engine {
namespace {

constexpr std::string_view kPrefix = "plan:";
// Switches may hash anew, and links fail: routes are discovered again after this time. Source: that
// of automatic discovery. Range: 5 to 600 s.
constexpr Nanos kLookInterval = seconds(60);
// A look at routes that are being discovered copies all that was found. Chosen: a discovery takes
// hundreds of milliseconds. Range: 1 to 100 ms.
constexpr Nanos kFoundInterval = millis(10);

}  // namespace

PlanFollower::PlanFollower(const std::string& selector, const KnownRoutes* known) : known_(known) {
  if (known_ != nullptr) changes_seen_ = known_->changes();
  if (!selector.starts_with(kPrefix)) return;
  file_ = selector.substr(kPrefix.size());
  reader_ = std::make_unique<PlanReader>(file_);
  Result<RoutePlan> plan = reader_->read();
  if (plan) {
    plan_ = std::move(*plan);
  } else {
    log_warn("{}; paths are chosen adaptively", plan.error().message());
  }
}

std::string PlanFollower::selector_of(const std::string& selector) {
  return selector.starts_with(kPrefix) ? "plan" : selector;
}

void PlanFollower::on_notice(Nanos now, const transport::Notice& notice,
                             transport::Endpoint& endpoint) {
  if (!reader_) return follow_known(now, notice, endpoint);
  if (notice.kind == transport::NoticeKind::kClosed) {
    const auto found = connections_.find(notice.connection);
    if (found == connections_.end()) return;
    discovering_ -= found->second.discovering ? 1 : 0;
    connections_.erase(found);
    return;
  }
  // Without connections nothing looked at the file.
  if (next_look_ == Nanos::never()) next_look_ = now;
  Followed& followed = connections_[notice.connection];
  discovering_ -= followed.discovering ? 1 : 0;
  followed = {plan_ ? plan_->find(notice.peer) : nullptr, notice.peer, address_text(notice.peer),
              false, false};
  if (followed.routes != nullptr) return discover(now, notice.connection, followed, endpoint);
  if (!plan_) return;
  log_info("plan {}: no flow to {}; its paths are chosen adaptively", file_, followed.peer);
}

void PlanFollower::follow_known(Nanos now, const transport::Notice& notice,
                                transport::Endpoint& endpoint) {
  if (known_ == nullptr) return;
  if (notice.kind == transport::NoticeKind::kClosed) {
    connections_.erase(notice.connection);
    return;
  }
  Followed& followed = connections_[notice.connection];
  followed = {nullptr, notice.peer, {}, false, false};
  fit_known(now, notice.connection, followed, endpoint);
}

void PlanFollower::fit_known(Nanos now, transport::ConnectionId id, Followed& followed,
                             transport::Endpoint& endpoint) {
  const std::vector<transport::PlannedShare> shares = known_->shares_of(followed.address);
  if (shares.empty() && !followed.following) return;
  const bool posted = endpoint.post_plan(now, id, shares).has_value();
  followed.following = posted && !shares.empty();
}

void PlanFollower::discover(Nanos now, transport::ConnectionId id, Followed& followed,
                            transport::Endpoint& endpoint) {
  if (followed.discovering || !endpoint.post_discovery(now, id)) return;
  followed.discovering = true;
  ++discovering_;
  next_found_ = std::min(next_found_, now + kFoundInterval);
}

void PlanFollower::turn(Nanos now, transport::Endpoint& endpoint) {
  if (routes_changed()) {
    changes_seen_ = known_->changes();
    for (auto& [id, followed] : connections_) fit_known(now, id, followed, endpoint);
  }
  if (!reader_) return;
  if (next_look_ <= now) {
    next_look_ = connections_.empty() ? Nanos::never() : now + kLookInterval;
    if (!connections_.empty()) reader_->start();
    for (auto& [id, followed] : connections_) {
      if (followed.routes != nullptr) discover(now, id, followed, endpoint);
    }
  }
  take_replaced(now, endpoint);
  if (now < next_found_) return;
  next_found_ = now + kFoundInterval;
  for (auto& [id, followed] : connections_) {
    transport::FabricRoutes found;
    if (!followed.discovering || !endpoint.routes(id, found) || found.under_way) continue;
    followed.discovering = false;
    --discovering_;
    if (followed.routes == nullptr) continue;
    fit(now, id, followed, found, endpoint);
  }
  if (discovering_ == 0) next_found_ = Nanos::never();
}

void PlanFollower::take_replaced(Nanos now, transport::Endpoint& endpoint) {
  std::optional<Result<RoutePlan>> read = reader_->take();
  if (!read) return;
  if (!*read) {
    log_warn("{}; {}", read->error().message(),
             plan_ ? "the plan from before is followed" : "paths are chosen adaptively");
    return;
  }
  log_info("plan {}: it was replaced, and is read again", file_);
  plan_ = std::move(**read);
  for (auto& [id, followed] : connections_) {
    const bool had = std::exchange(followed.routes, plan_->find(followed.address)) != nullptr;
    if (followed.routes != nullptr) {
      discover(now, id, followed, endpoint);
    } else if (had) {
      log_info("plan {}: no flow to {} any more; its paths are chosen adaptively", file_,
               followed.peer);
      followed.following = false;
      static_cast<void>(endpoint.post_plan(now, id, {}));
    }
  }
}

void PlanFollower::fit(Nanos now, transport::ConnectionId id, Followed& followed,
                       const transport::FabricRoutes& found, transport::Endpoint& endpoint) {
  const auto paths = static_cast<uint16_t>(found.route_of.size());
  const FittedPlan fitted = plan_->fit(*followed.routes, found, paths);
  const bool posted = endpoint.post_plan(now, id, fitted.shares).has_value();
  if (posted && !fitted.shares.empty()) {
    if (!followed.following) {
      log_info("plan {}: followed to {} on {} of {} paths, {} of {} planned routes", file_,
               followed.peer, fitted.shares.size(), paths, fitted.routes, followed.routes->size());
    }
    followed.following = true;
    return;
  }
  log_warn(
      "plan {}: {} to {}: none of {} paths takes the route {}; paths are chosen adaptively. "
      "Plan again, or give connections more paths",
      file_, followed.following ? "is stale" : "does not fit", followed.peer, paths,
      fitted.missing);
  followed.following = false;
}

}  // namespace heddle::engine
