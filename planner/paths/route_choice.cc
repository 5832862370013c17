// See route_choice.h.
#include "planner/paths/route_choice.h"

#include <algorithm>
#include <cmath>

namespace heddle::planner {

void RouteChoice::choose(double floor, uint32_t most_parts) {
  placement_.place(floor);
  longest_ = placement_.loads().longest_between();
  if (longest_ <= floor * (1 + params::kTolerance) || most_parts <= 1) return;
  shares_.emplace(table_, fixed_);
  shares_->balance(floor, most_parts);
  lengths_ = shares_->lengths();
  const double shared = shares_->loads().longest_between();
  if (shared < longest_ * (1 - params::kTolerance)) {
    longest_ = shared;
  } else {
    shares_.reset();
  }
}

uint32_t RouteChoice::parts() const {
  if (!shares_) return 1;
  uint32_t most = 0;
  for (uint32_t lane = 0; lane < table_.size(); ++lane) {
    uint32_t taken = 0;
    shares_->for_each(lane, [&](uint32_t, double) { ++taken; });
    most = std::max(most, taken);
  }
  return most;
}

std::vector<PlannedPath> shares_of(std::vector<PathBytes>& paths, uint32_t whole) {
  std::sort(paths.begin(), paths.end(),
            [](const PathBytes& a, const PathBytes& b) { return a.path < b.path; });
  double sum = 0;
  for (const PathBytes& each : paths) sum += each.bytes;
  std::vector<PlannedPath> shares;
  shares.reserve(paths.size());
  double seen = 0;
  uint32_t given = 0;
  for (const PathBytes& each : paths) {
    seen += each.bytes;
    const auto until = static_cast<uint32_t>(std::lround(seen / sum * whole));
    if (until > given) shares.push_back({each.path, until - given});
    given = until;
  }
  return shares;
}

}  // namespace heddle::planner
