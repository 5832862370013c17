// See live_plan.h. A change takes the lanes that it concerns off the links, changes the fabric,
// and plans them by a table that has the links of their routes alone.
#include "planner/live_plan.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "planner/paths/bound.h"
#include "planner/paths/plan_on.h"
#include "planner/paths/planned_routes.h"
#include "planner/paths/route_choice.h"

namespace heddle::planner {
namespace {

template <typename Each>
void sort_once(std::vector<Each>& all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

template <typename Each>
bool has(const std::vector<Each>& sorted, const Each& each) {
  return std::binary_search(sorted.begin(), sorted.end(), each);
}

}  // namespace

LivePlan::LivePlan(const topology::Topology& topology, Demand demand,
                   const PathPlanOptions& options)
    : fabric_(topology, options.failed_links),
      demand_(std::move(demand)),
      options_(options),
      loads_(fabric_, demand_.background),
      between_(fabric_.links()),
      of_nics_(fabric_.links()),
      index_(fabric_),
      scratch_(fabric_.links(), kNone) {}

Result<std::unique_ptr<LivePlan>> LivePlan::make(const topology::Topology& topology, Demand demand,
                                                 const PathPlanOptions& options) {
  std::unique_ptr<LivePlan> live(new LivePlan(topology, std::move(demand), options));
  Result<PathPlan> plan = plan_on(live->fabric_, live->demand_, options);
  if (!plan) return fail(plan.error());
  live->keep(std::move(*plan));
  return live;
}

void LivePlan::keep(PathPlan plan) {
  flows_ = std::move(plan.flows);
  ended_.resize(flows_.size());
  std::vector<Lane> lanes;
  for (uint32_t flow = 0; flow < flows_.size(); ++flow) {
    index_.add(demand_, flow, options_.paths);
    lanes.clear();
    add_lanes_of_flow(fabric_, demand_, flow, options_.paths, lanes);
    for (const Lane& lane : lanes) {
      const LaneRef ref{flow, lane.lane};
      load(std::span(&ref, 1), 1);
      if (!fabric_.any_down()) continue;
      uint32_t hops = kNone;
      for_each_route(ref, [&](const Route& route, double) {
        hops = static_cast<uint32_t>(route.between().size());
      });
      if (!is_shortest(lane, hops)) detoured_.insert(ref);
    }
  }
  touched_.clear();
  for (LinkId link = 0; link < fabric_.links(); ++link) touched_.push_back(link);
  refresh();
}

uint64_t LivePlan::unreachable() const {
  return static_cast<uint64_t>(std::count_if(detoured_.begin(), detoured_.end(),
                                             [this](LaneRef lane) { return share_of(lane) == 0; }));
}

uint32_t LivePlan::lanes_of_flow(uint32_t flow) const {
  const FlowDemand& its = demand_.flows[flow];
  return lanes_of(fabric_, demand_.endpoints[its.from].host, demand_.endpoints[its.to].host,
                  options_.paths);
}

uint32_t LivePlan::share_of(LaneRef lane) const {
  const uint32_t lanes = lanes_of_flow(lane.flow);
  uint32_t share = 0;
  for (const PlannedPath& each : flows_[lane.flow].paths) {
    if (each.path % lanes == lane.lane) share += each.share_per_million;
  }
  return share;
}

// Calls use(route, bytes) for the paths of a lane that have a route.
template <typename Use>
void LivePlan::for_each_route(LaneRef lane, Use use) {
  const PlannedFlow& flow = flows_[lane.flow];
  for_each_planned_route(
      {fabric_, demand_, options_.paths}, flow, lane.lane,
      [&](size_t i, const Route& route) { use(route, planned_bytes(flow, flow.paths[i])); });
}

void LivePlan::load(std::span<const LaneRef> lanes, int sign) {
  for (const LaneRef lane : lanes) {
    for_each_route(lane, [&](const Route& route, double bytes) {
      loads_.add(route, sign * bytes);
      touched_.insert(touched_.end(), route.links().begin(), route.links().end());
    });
  }
}

double LivePlan::longest_on_routes(std::span<const LaneRef> lanes) {
  double longest = 0;
  for (const LaneRef lane : lanes) {
    for_each_route(lane, [&](const Route& route, double) {
      for (const LinkId link : route.between()) longest = std::max(longest, loads_.time(link));
    });
  }
  return longest;
}

// --- changes ---

Replanned LivePlan::set_down(uint32_t cable, bool down) {
  CHECK(2 * cable < fabric_.links());
  if (fabric_.down(2 * cable) == down) return finish({});
  Concerned concerned = concerned_by(cable);
  load(concerned.lanes, -1);
  fabric_.set_down(cable, down);
  return plan(std::move(concerned), 0);
}

Replanned LivePlan::set_rate(uint32_t cable, BitsPerSec rate) {
  CHECK(2 * cable < fabric_.links());
  Concerned concerned = concerned_by(cable);
  fabric_.set_rate(cable, rate);
  touched_.insert(touched_.end(), {2 * cable, 2 * cable + 1});
  // Lanes of a NIC carry by its rate.
  const bool of_nic = !fabric_.is_between_switches(2 * cable);
  const double now = of_nic ? 0 : longest_on_routes(concerned.lanes);
  load(concerned.lanes, -1);
  return plan(std::move(concerned), now * (1 - params::kTolerance));
}

Replanned LivePlan::add_flow(const FlowDemand& flow) {
  CHECK(flow.from < demand_.endpoints.size() && flow.to < demand_.endpoints.size());
  if (vacant_.empty()) {
    vacant_.push_back(static_cast<uint32_t>(flows_.size()));
    demand_.flows.emplace_back();
    flows_.emplace_back();
    ended_.push_back(true);
  }
  const uint32_t number = vacant_.back();
  vacant_.pop_back();
  demand_.flows[number] = flow;
  flows_[number] = {flow, {}};
  ended_[number] = false;
  index_.add(demand_, number, options_.paths);
  Concerned concerned;
  add_whole(concerned, {number});
  Replanned replanned = plan(std::move(concerned), 0);
  replanned.begun = number;
  return replanned;
}

Replanned LivePlan::remove_flow(uint32_t flow) {
  CHECK(flow < flows_.size());
  if (ended_[flow]) return finish({});
  Concerned concerned;
  add_whole(concerned, {flow});
  load(concerned.lanes, -1);
  for (const LaneRef lane : concerned.lanes) detoured_.erase(lane);
  flows_[flow].paths.clear();
  ended_[flow] = true;
  vacant_.push_back(flow);
  index_.remove(demand_, flow, options_.paths);
  return finish({});
}

// --- lanes ---

LivePlan::Concerned LivePlan::concerned_by(uint32_t cable) const {
  Concerned concerned;
  std::vector<uint32_t> whole;
  const topology::Link& link = fabric_.topology().links[cable];
  if (fabric_.is_between_switches(2 * cable)) {
    index_.find_lanes(cable, concerned.lanes);
  } else {
    for (const topology::Node& end : {link.a, link.b}) {
      if (end.kind != topology::NodeKind::kNic) continue;
      const std::vector<uint32_t>& its = index_.flows_of(fabric_.topology().nics[end.index].host);
      whole.insert(whole.end(), its.begin(), its.end());
    }
  }
  // A lane without a share has a NIC whose cable is down, unless it has no route.
  std::erase_if(concerned.lanes, [this](LaneRef lane) { return share_of(lane) == 0; });
  for (const LaneRef lane : detoured_) {
    if (share_of(lane) == 0) whole.push_back(lane.flow);
    concerned.lanes.push_back(lane);
  }
  add_whole(concerned, std::move(whole));
  return concerned;
}

void LivePlan::add_whole(Concerned& concerned, std::vector<uint32_t> flows) const {
  for (const uint32_t flow : flows) {
    const uint32_t lanes = lanes_of_flow(flow);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      concerned.lanes.push_back({flow, static_cast<uint16_t>(lane)});
    }
  }
  concerned.whole.insert(concerned.whole.end(), flows.begin(), flows.end());
  sort_once(concerned.lanes);
  sort_once(concerned.whole);
}

RouteTable LivePlan::table_of(const Concerned& concerned) {
  std::vector<Lane> lanes;
  std::vector<Lane> own;
  for (size_t i = 0; i < concerned.lanes.size(); ++i) {
    const uint32_t flow = concerned.lanes[i].flow;
    if (i > 0 && concerned.lanes[i - 1].flow == flow) continue;
    own.clear();
    add_lanes_of_flow(fabric_, demand_, flow, options_.paths, own);
    const bool whole = has(concerned.whole, flow);
    for (Lane& lane : own) {
      const LaneRef ref{flow, lane.lane};
      if (!has(concerned.lanes, ref)) continue;
      if (!whole)
        lane.bytes = static_cast<double>(demand_.flows[flow].bytes) * share_of(ref) * 1e-6;
      lanes.push_back(lane);
    }
  }
  return RouteTable(fabric_, demand_, std::move(lanes), options_.paths, scratch_);
}

// A lane without a route leaves its bytes to the others of its flow.
RouteTable LivePlan::reachable_table_of(Concerned& concerned) {
  RouteTable table = table_of(concerned);
  std::vector<uint32_t> whole;
  for (uint32_t i = 0; i < table.size(); ++i) {
    const uint32_t flow = table.lane(i).flow;
    if (table.options_of(i) == 0 && !has(concerned.whole, flow)) whole.push_back(flow);
  }
  if (whole.empty()) return table;
  const std::vector<LaneRef> before = concerned.lanes;
  add_whole(concerned, std::move(whole));
  std::vector<LaneRef> more;
  std::set_difference(concerned.lanes.begin(), concerned.lanes.end(), before.begin(), before.end(),
                      std::back_inserter(more));
  load(more, -1);
  return table_of(concerned);
}

// --- planning ---

Replanned LivePlan::plan(Concerned concerned, double worth_below) {
  RouteTable table = reachable_table_of(concerned);
  refresh();
  Replanned replanned;
  replanned.considered = table.size();
  for (uint32_t i = 0; i < table.size(); ++i) {
    replanned.unreachable += table.options_of(i) == 0 ? 1 : 0;
  }
  replanned.bound_between = cut_bound(table, loads_.all());
  const double floor =
      std::max({replanned.bound_between, longest_of_nics(table), of_nics_.longest()});
  note_detours(concerned, table);
  std::vector<double> others;
  others.reserve(table.own_links().size());
  // Sums of lanes that came and went are not exact.
  for (const LinkId link : table.own_links()) others.push_back(std::max(0.0, loads_.bytes(link)));
  const Loads fixed(table.space(), others);
  RouteChoice choice(table, fixed, nullptr);
  choice.choose(floor, options_.most_parts);
  if (worth_below == 0 || choice.longest() < worth_below) {
    adopt(concerned, table, choice, replanned);
  }
  load(concerned.lanes, 1);
  return finish(std::move(replanned));
}

// Of the lanes' NICs, with the lanes.
double LivePlan::longest_of_nics(const RouteTable& table) {
  std::vector<std::pair<LinkId, double>> bytes;
  for (uint32_t i = 0; i < table.size(); ++i) {
    if (table.options_of(i) == 0) continue;
    const Lane& lane = table.lane(i);
    bytes.emplace_back(fabric_.egress(lane.from_nic), lane.bytes);
    bytes.emplace_back(fabric_.ingress(lane.to_nic), lane.bytes);
  }
  std::sort(bytes.begin(), bytes.end());
  double longest = 0;
  double sum = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    sum += bytes[i].second;
    if (i + 1 < bytes.size() && bytes[i + 1].first == bytes[i].first) continue;
    longest = std::max(longest, loads_.time_with(bytes[i].first, sum));
    sum = 0;
  }
  return longest;
}

// The paths of a flow but for those of some of its lanes, one at least.
std::vector<PlannedPath> LivePlan::kept_paths(std::span<const LaneRef> without) const {
  const uint32_t flow = without.front().flow;
  const uint32_t lanes = lanes_of_flow(flow);
  std::vector<PlannedPath> kept;
  for (const PlannedPath& each : flows_[flow].paths) {
    const LaneRef lane{flow, static_cast<uint16_t>(each.path % lanes)};
    if (!std::binary_search(without.begin(), without.end(), lane)) kept.push_back(each);
  }
  return kept;
}

void LivePlan::adopt(const Concerned& concerned, const RouteTable& table, const RouteChoice& choice,
                     Replanned& replanned) {
  const std::span<const LaneRef> all = concerned.lanes;
  std::vector<PathBytes> pieces;
  uint32_t lane = 0;
  for (size_t first = 0, end = 0; first < all.size(); first = end) {
    const uint32_t flow = all[first].flow;
    while (end < all.size() && all[end].flow == flow) ++end;
    const bool whole = has(concerned.whole, flow);
    std::vector<PlannedPath> paths = kept_paths(all.subspan(first, end - first));
    const auto give = [&](uint32_t share) {
      if (pieces.empty()) return;
      const std::vector<PlannedPath> given = shares_of(pieces, share);
      paths.insert(paths.end(), given.begin(), given.end());
      pieces.clear();
    };
    for (; lane < table.size() && table.lane(lane).flow == flow; ++lane) {
      choice.for_each(lane, [&](uint32_t option, double share) {
        if (share <= 0) return;
        pieces.push_back({table.options(lane)[option].path, table.lane(lane).bytes * share});
      });
      if (!whole) give(share_of({flow, table.lane(lane).lane}));
    }
    give(kWholeShare);
    std::sort(paths.begin(), paths.end(),
              [](const PlannedPath& a, const PlannedPath& b) { return a.path < b.path; });
    if (paths != flows_[flow].paths) replanned.moved.push_back(flow);
    flows_[flow].paths = std::move(paths);
  }
}

void LivePlan::note_detours(const Concerned& concerned, const RouteTable& table) {
  for (const LaneRef lane : concerned.lanes) detoured_.erase(lane);
  for (uint32_t i = 0; i < table.size(); ++i) {
    const Lane& lane = table.lane(i);
    const uint32_t hops = table.options_of(i) > 0 ? table.hops(i) : kNone;
    if (!is_shortest(lane, hops)) detoured_.insert({lane.flow, lane.lane});
  }
}

// `hops`: of its route between switches; kNone: it has none.
bool LivePlan::is_shortest(const Lane& lane, uint32_t hops) {
  if (hops == 0 || hops == kNone) return hops == 0;
  return hops ==
         fabric_.shortest_hops(fabric_.switch_of(lane.from_nic), fabric_.switch_of(lane.to_nic));
}

void LivePlan::refresh() {
  for (const LinkId link : touched_) {
    const double time = loads_.carries(link) ? loads_.time(link) : 0;
    (fabric_.is_between_switches(link) ? between_ : of_nics_).set(link, time);
  }
  touched_.clear();
}

Replanned LivePlan::finish(Replanned replanned) {
  refresh();
  replanned.planned = planned();
  return replanned;
}

}  // namespace heddle::planner
