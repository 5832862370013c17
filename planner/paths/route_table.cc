// Lanes of a demand and the routes of their entropies: see route_table.h.
#include "planner/paths/route_table.h"

#include <algorithm>

namespace heddle::planner {
namespace {

// Links without a rate count as equal ones.
double rate_of(const Fabric& fabric, const Lane& lane) {
  const LinkId out = fabric.egress(lane.from_nic);
  const LinkId in = fabric.ingress(lane.to_nic);
  if (fabric.down(out) || fabric.down(in)) return 0;
  return std::min({fabric.rate(out), fabric.rate(in), 1e6});
}

}  // namespace

void add_lanes_of_flow(const Fabric& fabric, const Demand& demand, uint32_t flow, uint16_t paths,
                       std::vector<Lane>& lanes) {
  const FlowDemand& its = demand.flows[flow];
  const uint32_t count =
      lanes_of(fabric, demand.endpoints[its.from].host, demand.endpoints[its.to].host, paths);
  const size_t first = lanes.size();
  double sum = 0;
  for (uint32_t lane = 0; lane < count; ++lane) {
    const topology::EcmpKey key = key_of(fabric, demand, its, lane, 0);
    lanes.push_back({flow, static_cast<uint16_t>(lane), static_cast<uint16_t>(count), key.from_nic,
                     key.to_nic, 0});
    lanes.back().bytes = rate_of(fabric, lanes.back());
    sum += lanes.back().bytes;
  }
  size_t kept = first;
  for (size_t i = first; i < lanes.size(); ++i) {
    const double share = sum == 0 ? 1.0 / count : lanes[i].bytes / sum;
    lanes[i].bytes = static_cast<double>(its.bytes) * share;
    if (lanes[i].bytes > 0) lanes[kept++] = lanes[i];
  }
  lanes.resize(kept);
}

std::vector<Lane> lanes_of_demand(const Fabric& fabric, const Demand& demand, uint16_t paths) {
  std::vector<Lane> all;
  for (uint32_t i = 0; i < demand.flows.size(); ++i) {
    add_lanes_of_flow(fabric, demand, i, paths, all);
  }
  return all;
}

RouteTable::RouteTable(Fabric& fabric, const Demand& demand, std::vector<Lane> lanes,
                       uint16_t paths, LinkScratch& scratch)
    : fabric_(fabric), lanes_(std::move(lanes)) {
  newest_.swap(scratch);
  add_all(fabric, demand, paths);
  newest_.swap(scratch);
  number_own_links(scratch);
}

void RouteTable::add_all(Fabric& fabric, const Demand& demand, uint16_t paths) {
  first_option_.reserve(lanes_.size() + 1);
  first_link_.reserve(lanes_.size());
  hops_.reserve(lanes_.size());
  size_t most = 0;
  for (const Lane& lane : lanes_) most += (paths + lane.lanes - 1U) / lane.lanes;
  options_.reserve(most);
  links_.reserve(2 * most);  // two tiers; more of them are rare
  for (const Lane& lane : lanes_) {
    first_option_.push_back(options_.size());
    first_link_.push_back(links_.size());
    hops_.push_back(0);
    add_options(fabric, demand, lane, paths);
  }
  first_option_.push_back(options_.size());
  before_ = {};
}

void RouteTable::number_own_links(LinkScratch& scratch) {
  for (const LinkId link : links_) {
    if (scratch[link] != kNone) continue;
    scratch[link] = 0;
    own_links_.push_back(link);
  }
  std::sort(own_links_.begin(), own_links_.end());
  for (uint32_t i = 0; i < own_links_.size(); ++i) {
    scratch[own_links_[i]] = i;
    own_rates_.push_back(fabric_.rate(own_links_[i]));
  }
  own_between_.assign(own_links_.size(), 1);
  for (LinkId& link : links_) link = scratch[link];
  for (const LinkId link : own_links_) scratch[link] = kNone;
}

void RouteTable::add_options(Fabric& fabric, const Demand& demand, const Lane& lane,
                             uint16_t paths) {
  const FlowDemand& flow = demand.flows[lane.flow];
  before_.clear();
  Route route;
  for (uint32_t i = lane.lane; i < paths; i += lane.lanes) {
    const auto path = static_cast<uint16_t>(i);
    if (!fabric.route(key_of(fabric, demand, flow, lane.lane, path), route)) continue;
    const std::span<const LinkId> links = route.between();
    if (before_.empty()) hops_.back() = static_cast<uint8_t>(links.size());
    if (merge(links)) continue;
    options_.push_back({path, 1});
    links_.insert(links_.end(), links.begin(), links.end());
  }
  if (hops_.back() == 0) return;
  for (size_t link = first_link_.back(); link < links_.size(); link += hops_.back()) {
    newest_[links_[link]] = kNone;
  }
}

// False: no earlier entropy of the lane takes these links.
bool RouteTable::merge(std::span<const LinkId> links) {
  const auto next = static_cast<uint32_t>(before_.size());
  if (links.empty()) {
    if (next > 0) ++options_.back().paths;
    if (next == 0) before_.push_back(kNone);
    return next > 0;
  }
  for (uint32_t i = newest_[links.front()]; i != kNone; i = before_[i]) {
    if (!std::equal(links.begin(), links.end(),
                    links_.begin() + static_cast<ptrdiff_t>(first_link_.back() + i * links.size())))
      continue;
    ++options_[first_option_.back() + i].paths;
    return true;
  }
  before_.push_back(newest_[links.front()]);
  newest_[links.front()] = next;
  return false;
}

}  // namespace heddle::planner
