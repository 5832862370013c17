// Hop by hop: probes all paths, and again those without a reply, since routers limit the rate of
// their replies. If no router answers at a hop, a probe asks the peer for an acknowledgement.
#include "transport/path/discovery.h"

#include <algorithm>
#include <map>

#include "transport/params.h"

namespace heddle::transport {
namespace {

using events::RoutesVerdict;

using namespace params::discovery;

}  // namespace

Discovery::Discovery(Nanos now, uint16_t paths)
    : paths_(paths), seen_(size_t{paths} * kMostHops, kSilent) {
  begin_hop(now);
}

void Discovery::begin_hop(Nanos now) {
  ++hop_;
  answered_ = 0;
  idle_rounds_ = 0;
  confirm_due_ = false;
  left_ = paths();
  begin_round(now);
}

void Discovery::begin_round(Nanos now) {
  before_ = answered_;
  cursor_ = 0;
  waited_ = false;
  at_ = now;
}

bool Discovery::poll_probe(Nanos now, Probe& probe) {
  if (done_ || now < at_) return false;
  if (confirm_due_) {
    // In turn: one of the paths may be dead.
    probe = {static_cast<uint16_t>((idle_rounds_ - 1u) % paths()), hop_, true};
    confirm_due_ = false;
    ++sent_;
    at_ = now + kBetweenProbes;
    return true;
  }
  while (cursor_ < paths() && left_ > 0) {
    const uint16_t path = cursor_++;
    if (seen(path, hop_) != kSilent) continue;
    --left_;
    ++sent_;
    probe = {path, hop_, false};
    at_ = now + kBetweenProbes;
    return true;
  }
  if (!waited_ && answered_ < paths()) {
    waited_ = true;
    at_ = now + std::min(kFirstWait * (int64_t{1} << 2 * idle_rounds_), kLongestWait);
    return false;
  }
  end_round(now);
  return !done_ && at_ <= now && poll_probe(now, probe);
}

void Discovery::end_round(Nanos now) {
  const auto fresh = static_cast<uint16_t>(answered_ - before_);
  if (answered_ == paths()) {
    if (hop_ == kMostHops) return finish(RoutesVerdict::kTooFar);
    return begin_hop(now);
  }
  idle_rounds_ = fresh > 0 ? uint8_t{0} : static_cast<uint8_t>(idle_rounds_ + 1);
  // Some answered and some do not: what the others pass is not known.
  if (idle_rounds_ == kIdleRounds || sent_ >= kMostProbes) {
    return finish(RoutesVerdict::kSilentRouter);
  }
  confirm_due_ = answered_ == 0;
  // A router that limits its answers gives them the sooner the fewer are asked for.
  left_ = std::max<uint16_t>(static_cast<uint16_t>(2 * fresh), 2);
  begin_round(now);
}

void Discovery::on_answer(uint16_t path, uint8_t hop, const RouterAddress& router) {
  if (done_ || path >= paths() || hop == 0 || hop > hop_ || seen(path, hop) != kSilent) return;
  const auto at = std::find(routers_.begin(), routers_.end(), router);
  seen(path, hop) = static_cast<uint16_t>(at - routers_.begin());
  if (at == routers_.end()) routers_.push_back(router);
  if (hop != hop_) return;
  // Nothing is left to wait for.
  if (++answered_ == paths_ && waited_) at_ = {};
}

// That of hops before it nothing arrived is known: routers answered there.
void Discovery::on_arrived(uint8_t hop) {
  if (done_ || hop != hop_ || answered_ > 0) return;
  arrived_ = true;
  finish(RoutesVerdict::kKnown);
  if (!are_enough(paths(), routes().seen)) verdict_ = RoutesVerdict::kFewPaths;
}

void Discovery::finish(RoutesVerdict verdict) {
  verdict_ = verdict;
  done_ = true;
}

FabricRoutes Discovery::routes() const {
  FabricRoutes found;
  found.verdict = verdict_;
  found.hops = static_cast<uint8_t>(hop_ - (arrived_ ? 1 : 0));
  std::map<std::vector<uint16_t>, uint16_t> routes;
  for (uint16_t path = 0; path < paths(); ++path) {
    std::vector<uint16_t> route;
    for (uint8_t hop = 1; hop <= found.hops; ++hop) {
      const uint16_t router = seen(path, hop);
      route.push_back(router);
      found.routers.push_back(router == kSilent ? RouterAddress{} : routers_[router]);
    }
    const auto number = static_cast<uint16_t>(routes.size());
    found.route_of.push_back(routes.emplace(std::move(route), number).first->second);
  }
  found.seen = static_cast<uint32_t>(routes.size());
  return found;
}

std::vector<uint16_t> paths_of_each_route(const FabricRoutes& routes, uint16_t each) {
  std::vector<uint16_t> taken(routes.seen);
  std::vector<uint16_t> some;
  for (uint16_t path = 0; path < routes.route_of.size(); ++path) {
    if (taken[routes.route_of[path]]++ < each) some.push_back(path);
  }
  return some;
}

}  // namespace heddle::transport
