// Moving lanes off the most loaded link: see placement.h.
#include <algorithm>

#include "planner/paths/params.h"
#include "planner/paths/placement.h"

namespace heddle::planner {

void Placement::put(uint32_t lane, uint32_t option) {
  chosen_[lane] = option;
  const std::span<const LinkId> links = table_.links(lane, option);
  loads_.add(links, table_.lane(lane).bytes);
  for (const LinkId link : links) {
    lanes_on_[link].push_back(lane);
    note(link);
  }
}

void Placement::lift(uint32_t lane) {
  const std::span<const LinkId> links = table_.links(lane, chosen_[lane]);
  loads_.add(links, -table_.lane(lane).bytes);
  for (const LinkId link : links) {
    std::vector<uint32_t>& on = lanes_on_[link];
    const auto found = std::find(on.begin(), on.end(), lane);
    if (found == on.end()) continue;
    *found = on.back();
    on.pop_back();
    note(link);
  }
  chosen_[lane] = kNone;
}

// Of those that carry a lane; kNone: there is none.
LinkId Placement::most_loaded() {
  while (!by_time_.empty()) {
    const auto [time, link] = by_time_.top();
    if (time == loads_.time(link) && !lanes_on_[link].empty()) return link;
    by_time_.pop();
  }
  return kNone;
}

// Chains have a number of tries that is enough for small fabrics; on large ones, where a single
// route a lane cannot reach the floor, the search ends in time for shares to be tried.
void Placement::improve(double floor) {
  uint64_t left = params::kTriesOfPlacement + params::kTriesOfLane * table_.size();
  while (left > 0) {
    const LinkId link = most_loaded();
    if (link == kNone) break;
    const double time = loads_.time(link);
    if (time <= floor * (1 + params::kTolerance)) break;
    bool relieved = false;
    for (uint32_t depth = 0; depth <= params::kDeepestChain && !relieved; depth += 2) {
      tries_ = params::kTriesOfChain;
      relieved = relieve(link, time * (1 - 1e-9), depth);
      locked_.clear();
      left -= std::min<uint64_t>(left, params::kTriesOfChain - tries_ + 1);
    }
    if (!relieved) break;
  }
  by_time_ = {};
}

// Moves a lane off the link to a route whose links stay below `limit`; with a `depth`, by moving
// others off that route first.
bool Placement::relieve(LinkId link, double limit, uint32_t depth) {
  // Moves change the list.
  const std::vector<uint32_t> lanes = lanes_on_[link];
  for (const uint32_t lane : lanes) {
    if (std::find(locked_.begin(), locked_.end(), lane) != locked_.end()) continue;
    if (make_room(lane, link, limit, depth)) return true;
    if (tries_ == 0) return false;
  }
  return false;
}

bool Placement::make_room(uint32_t lane, LinkId off, double limit, uint32_t depth) {
  const uint32_t before = chosen_[lane];
  const double bytes = table_.lane(lane).bytes;
  lift(lane);
  for (uint32_t option = 0; option < table_.options_of(lane) && tries_ > 0; ++option) {
    if (option == before) continue;
    --tries_;
    LinkId full = kNone;
    uint32_t full_links = 0;
    for (const LinkId link : table_.links(lane, option)) {
      full_links += link == off ? 2 : 0;
      if (loads_.time_with(link, bytes) < limit) continue;
      full = link;
      ++full_links;
    }
    if (full_links == 0) {
      put(lane, option);
      return true;
    }
    if (full_links > 1 || depth == 0) continue;
    put(lane, option);
    locked_.push_back(lane);
    if (relieve(full, limit, depth - 1) && loads_.time(full) < limit) return true;
    locked_.pop_back();
    lift(lane);
  }
  put(lane, before);
  return false;
}

}  // namespace heddle::planner
