// See plan_follower.h.
#include "engine/plan_follower.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "engine/addresses.h"
#include "engine/params.h"

namespace heddle::engine {
namespace {

using namespace params::plan_follower;

constexpr std::string_view kPrefix = "plan:";

}  // namespace

PlanFollower::PlanFollower(std::shared_ptr<SharedPlan> plan, const KnownRoutes* known)
    : known_(known), shared_(std::move(plan)), discovery_interval_(kLookInterval) {
  if (known_ != nullptr) changes_seen_ = known_->changes();
  if (!shared_) return;
  plan_number_ = shared_->number();
  plan_ = shared_->plan();
}

std::shared_ptr<SharedPlan> PlanFollower::plan_of(const std::string& selector) {
  if (!selector.starts_with(kPrefix)) return nullptr;
  return std::make_shared<SharedPlan>(selector.substr(kPrefix.size()));
}

std::string PlanFollower::selector_of(const std::string& selector) {
  return selector.starts_with(kPrefix) ? "plan" : selector;
}

void PlanFollower::on_notice(Nanos now, const transport::Notice& notice,
                             transport::Endpoint& endpoint) {
  if (!shared_) return follow_known(now, notice, endpoint);
  if (notice.kind == transport::NoticeKind::kClosed) {
    const auto found = connections_.find(notice.connection);
    if (found == connections_.end()) return;
    discovering_ -= found->second.discovering ? 1 : 0;
    connections_.erase(found);
    return;
  }
  // Without connections nothing looked at the file.
  if (next_look_ == Nanos::never()) next_look_ = next_discovery_ = now;
  next_watch_ = std::min(next_watch_, now + kWatchInterval);
  Followed& followed = connections_[notice.connection];
  discovering_ -= followed.discovering ? 1 : 0;
  followed = {};
  followed.routes = plan_ ? plan_->find(notice.peer) : nullptr;
  followed.address = notice.peer;
  followed.peer = address_text(notice.peer);
  if (followed.routes != nullptr) return discover(now, notice.connection, followed, endpoint);
  if (!plan_) return;
  log_info("plan {}: no flow to {}; its paths are chosen adaptively", shared_->file(),
           followed.peer);
}

void PlanFollower::follow_known(Nanos now, const transport::Notice& notice,
                                transport::Endpoint& endpoint) {
  if (known_ == nullptr) return;
  if (notice.kind == transport::NoticeKind::kClosed) {
    connections_.erase(notice.connection);
    return;
  }
  Followed& followed = connections_[notice.connection];
  followed = {};
  followed.address = notice.peer;
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
  followed.discovers_again = followed.discovering;
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
  if (!shared_) return;
  if (next_watch_ <= now) watch(now, endpoint);
  if (next_look_ <= now) look(now, endpoint);
  take_replaced(now, endpoint);
  if (next_found_ <= now) take_found(now, endpoint);
}

void PlanFollower::watch(Nanos now, transport::Endpoint& endpoint) {
  next_watch_ = connections_.empty() ? Nanos::never() : now + kWatchInterval;
  shared_->watch();
  constexpr auto kFailed = static_cast<size_t>(events::RecoveryStep::kPathSetAside);
  if (!failures_.begin(now, endpoint.statistics().recovery_by_step[kFailed])) return;
  next_look_ = next_discovery_ = now;
  discovery_interval_ = kFirstInterval;
}

void PlanFollower::look(Nanos now, transport::Endpoint& endpoint) {
  if (connections_.empty()) {
    next_look_ = Nanos::never();
    return;
  }
  shared_->look();
  if (next_discovery_ <= now) {
    next_discovery_ = now + discovery_interval_;
    discovery_interval_ = std::min(kIntervalGrows * discovery_interval_, kLookInterval);
    for (auto& [id, followed] : connections_) {
      if (followed.routes != nullptr) discover(now, id, followed, endpoint);
    }
  }
  next_look_ =
      failures_.settling(now) ? std::min(now + kFailedLook, next_discovery_) : next_discovery_;
}

void PlanFollower::take_found(Nanos now, transport::Endpoint& endpoint) {
  next_found_ = now + kFoundInterval;
  for (auto& [id, followed] : connections_) {
    transport::FabricRoutes found;
    if (!followed.discovering || !endpoint.routes(id, found) || found.under_way) continue;
    followed.discovering = false;
    --discovering_;
    if (followed.discovers_again) discover(now, id, followed, endpoint);
    const bool silent = found.verdict == events::RoutesVerdict::kSilentRouter;
    const bool known = silent && followed.found && is_part_of(found, *followed.found);
    if (!known) followed.found = std::move(found);
    if (followed.routes == nullptr || fit(now, id, followed, endpoint)) continue;
    report_misfit(followed);
    static_cast<void>(endpoint.post_plan(now, id, {}));
  }
  if (discovering_ == 0) next_found_ = Nanos::never();
}

void PlanFollower::take_replaced(Nanos now, transport::Endpoint& endpoint) {
  if (shared_->reading()) shared_->take();
  if (!plan_changed()) return;
  plan_number_ = shared_->number();
  // Until the end, since connections still name its routes.
  const std::shared_ptr<const RoutePlan> before = std::exchange(plan_, shared_->plan());
  for (auto& [id, followed] : connections_) {
    const bool had = std::exchange(followed.routes, plan_->find(followed.address)) != nullptr;
    followed.following = false;
    if (followed.routes != nullptr) {
      // At once by the routes that are known; those that are found now may be others.
      if (followed.found) fit(now, id, followed, endpoint);
      discover(now, id, followed, endpoint);
    } else if (had) {
      log_info("plan {}: no flow to {} any more; its paths are chosen adaptively", shared_->file(),
               followed.peer);
      static_cast<void>(endpoint.post_plan(now, id, {}));
    }
  }
}

bool PlanFollower::fit(Nanos now, transport::ConnectionId id, Followed& followed,
                       transport::Endpoint& endpoint) {
  const auto paths = static_cast<uint16_t>(followed.found->route_of.size());
  FittedPlan fitted = plan_->fit(*followed.routes, *followed.found, paths);
  if (fitted.shares.empty() || !endpoint.post_plan(now, id, fitted.shares)) return false;
  const bool same = std::equal(
      fitted.shares.begin(), fitted.shares.end(), followed.shares.begin(), followed.shares.end(),
      [](const transport::PlannedShare& a, const transport::PlannedShare& b) {
        return a.path == b.path && a.share_per_million == b.share_per_million;
      });
  if (!followed.following || !same) {
    log_info("plan {}: followed to {} on {} of {} paths, {} of {} planned routes", shared_->file(),
             followed.peer, fitted.shares.size(), paths, fitted.routes, followed.routes->size());
  }
  followed.following = true;
  followed.shares = std::move(fitted.shares);
  return true;
}

void PlanFollower::report_misfit(Followed& followed) const {
  const auto paths = static_cast<uint16_t>(followed.found->route_of.size());
  const FittedPlan fitted = plan_->fit(*followed.routes, *followed.found, paths);
  log_warn(
      "plan {}: {} to {}: none of {} paths takes the route {}; paths are chosen adaptively. "
      "Plan again, or give connections more paths",
      shared_->file(), followed.following ? "is stale" : "does not fit", followed.peer, paths,
      fitted.missing);
  followed.following = false;
}

}  // namespace heddle::engine
