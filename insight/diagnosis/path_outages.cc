// See path_outages.h.
#include "insight/diagnosis/path_outages.h"

#include <algorithm>
#include <utility>

#include "insight/diagnosis/params.h"

namespace heddle::insight {

void PathOutages::begin(uint16_t path, int64_t at) {
  const bool lasts = std::any_of(lasting_.begin(), lasting_.end(),
                                 [path](const Outage& each) { return each.path == path; });
  if (lasts || lasting_.size() >= params::kMostRoutes) return;
  const auto route = routes_.find(path);
  lasting_.push_back({.path = path, .from = at});
  if (route != routes_.end()) lasting_.back().route = route->second;
}

void PathOutages::end(uint16_t path, int64_t at) {
  const auto found = std::find_if(lasting_.begin(), lasting_.end(),
                                  [path](const Outage& each) { return each.path == path; });
  if (found == lasting_.end()) return;
  found->returned = true;
  keep(std::move(*found), at);
  lasting_.erase(found);
}

void PathOutages::close(int64_t at) {
  for (Outage& each : lasting_) keep(std::move(each), at);
  lasting_.clear();
}

void PathOutages::keep(Outage outage, int64_t at) {
  outage.to = at;
  ended_.push_back(std::move(outage));
  if (ended_.size() > params::kMostOutages) ended_.pop_front();
}

void PathOutages::on_message(int64_t at) {
  knows_messages_ = true;
  for (Outage& each : lasting_) {
    if (each.others_worked < 0) each.others_worked = at;
  }
}

void PathOutages::trace(uint16_t path, const Hop& seen) {
  if (seen.hop == 0 || seen.hop > params::kMostHops) return;
  if (!routes_.contains(path) && routes_.size() >= params::kMostRoutes) return;
  Route& route = routes_[path];
  if (route.size() < seen.hop) route.resize(seen.hop);
  if (seen.hops >= seen.hop && route.size() > seen.hops) route.resize(seen.hops);
  if (seen.router != Router{}) route[seen.hop - 1] = seen.router;
}

}  // namespace heddle::insight
