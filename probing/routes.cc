// See routes.h.
#include "probing/routes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "probing/graph.h"
#include "probing/params.h"

namespace heddle::probing {
namespace {

using Gap = std::pair<uint32_t, uint32_t>;  // the switches before and behind it

FoundRoute resolve(const FlowKey& key, const FlowProbes& flow, const SwitchGroups& groups) {
  FoundRoute route;
  route.arrives = flow.delivered > 0;
  size_t answered = 0;
  for (size_t i = 0; i < flow.hops.size(); ++i) {
    if (!flow.hops[i].router.empty()) answered = i + 1;
  }
  const size_t length = flow.routers ? *flow.routers : answered;
  route.switches.resize(length);
  for (size_t i = 0; i < length; ++i) {
    if (i >= flow.hops.size() || flow.hops[i].router.empty() || flow.hops[i].varies) continue;
    route.switches[i] = groups.switch_at(flow.hops[i].router);
  }
  if (length > 0 && !route.switches.front()) route.switches.front() = groups.switch_of(key.from);
  if (flow.routers && length > 0 && !route.switches.back()) {
    route.switches.back() = groups.switch_of(key.to);
  }
  return route;
}

// The gaps of one switch in the routes, with the source NICs whose probes it did not answer.
std::map<Gap, std::set<uint32_t>> gaps_of(const FoundFabric& found) {
  std::map<Gap, std::set<uint32_t>> gaps;
  for (const auto& [key, route] : found.routes) {
    for (size_t i = 1; i + 1 < route.switches.size(); ++i) {
      if (route.switches[i] || !route.switches[i - 1] || !route.switches[i + 1]) continue;
      gaps[{*route.switches[i - 1], *route.switches[i + 1]}].insert(key.from);
    }
  }
  return gaps;
}

// Known switches that are connected to the one behind the gap, and that no probe was seen to reach
// from the one before it: their answers may be lost.
std::vector<uint32_t> candidates_of(const FoundFabric& found, const Gap& gap) {
  const Graph graph(found);
  std::vector<uint32_t> fitting;
  for (const Place& behind : graph.neighbors(switch_place(gap.second))) {
    if (behind.kind != topology::NodeKind::kSwitch || behind.index == gap.first) continue;
    const auto link = link_between(found, switch_place(gap.first), behind);
    const bool is_crossed =
        link && (found.links[*link].a == switch_place(gap.first) ? found.links[*link].forward
                                                                 : found.links[*link].backward)
                        .flows > 0;
    if (!is_crossed) fitting.push_back(behind.index);
  }
  return fitting;
}

// Whether switches that answer some probes do not answer others.
bool limit_answers(const Observations& observations, const FoundFabric& found) {
  double sent = 0;
  double missed = 0;
  for (const auto& [key, flow] : observations.flows) {
    const FoundRoute& route = found.routes.at(key);
    for (size_t i = 0; i < flow.hops.size() && i < route.switches.size(); ++i) {
      if (!route.switches[i] || found.switches[*route.switches[i]].addresses.empty()) continue;
      sent += flow.hops[i].sent;
      missed += flow.hops[i].sent - std::min(flow.hops[i].answered, flow.hops[i].sent);
    }
  }
  return missed > params::kLimitedShare * sent;
}

// Whether a switch that answers is between the two.
bool is_joined(const FoundFabric& found, const Gap& gap) {
  for (uint32_t i = 0; i < found.switches.size(); ++i) {
    const bool is_between = !found.switches[i].addresses.empty() &&
                            link_between(found, switch_place(gap.first), switch_place(i)) &&
                            link_between(found, switch_place(i), switch_place(gap.second));
    if (is_between) return true;
  }
  return false;
}

void fill(FoundFabric& found, const Gap& gap, uint32_t filler) {
  for (auto& [key, route] : found.routes) {
    for (size_t i = 1; i + 1 < route.switches.size(); ++i) {
      if (!route.switches[i] && route.switches[i - 1] == gap.first &&
          route.switches[i + 1] == gap.second) {
        route.switches[i] = filler;
      }
    }
  }
  add_link(found, {switch_place(gap.first), switch_place(filler)}, Certainty::kGuessed);
  add_link(found, {switch_place(filler), switch_place(gap.second)}, Certainty::kGuessed);
}

void count(DirectionState& state) { ++state.flows; }

}  // namespace

std::map<FlowKey, FoundRoute> resolve_routes(const Observations& observations,
                                             const SwitchGroups& groups) {
  std::map<FlowKey, FoundRoute> routes;
  for (const auto& [key, flow] : observations.flows) routes[key] = resolve(key, flow, groups);
  return routes;
}

std::vector<Hop> hops_of(const FlowKey& key, const FoundRoute& route) {
  std::vector<Hop> hops;
  if (route.switches.empty()) {
    if (route.arrives) hops.push_back({nic_place(key.from), nic_place(key.to)});
    return hops;
  }
  if (route.switches.front()) {
    hops.push_back({nic_place(key.from), switch_place(*route.switches.front())});
  }
  for (size_t i = 1; i < route.switches.size(); ++i) {
    if (!route.switches[i - 1] || !route.switches[i]) continue;
    hops.push_back({switch_place(*route.switches[i - 1]), switch_place(*route.switches[i])});
  }
  if (route.arrives && route.switches.back()) {
    hops.push_back({switch_place(*route.switches.back()), nic_place(key.to)});
  }
  return hops;
}

void add_link(FoundFabric& found, const Hop& hop, Certainty certainty) {
  if (link_between(found, hop.from, hop.to)) return;
  const bool is_down = hop.to.kind == topology::NodeKind::kNic;
  add_link(found, FoundLink{.a = is_down ? hop.to : hop.from,
                            .b = is_down ? hop.from : hop.to,
                            .certainty = certainty,
                            .forward = {},
                            .backward = {}});
}

void make_links(const Observations& observations, const SwitchGroups& groups, FoundFabric& found) {
  std::map<Hop, std::set<std::string>> ingress;  // addresses at the far end
  for (const auto& [key, route] : found.routes) {
    for (const Hop& hop : hops_of(key, route)) {
      add_link(found, hop, Certainty::kSeen);
      FoundLink& link = found.links[*link_between(found, hop.from, hop.to)];
      count(link.a == hop.from ? link.forward : link.backward);
    }
    const FlowProbes& flow = observations.flows.at(key);
    for (size_t i = 1; i < route.switches.size() && i < flow.hops.size(); ++i) {
      const bool known = route.switches[i - 1] && route.switches[i];
      if (!known || flow.hops[i].router.empty()) continue;
      const Hop hop{switch_place(*route.switches[i - 1]), switch_place(*route.switches[i])};
      ingress[hop].insert(flow.hops[i].router);
    }
  }
  for (const auto& [hop, addresses] : ingress) {
    FoundLink& link = found.links[*link_between(found, hop.from, hop.to)];
    link.cables = std::max(link.cables, static_cast<uint32_t>(addresses.size()));
  }
  for (uint32_t nic = 0; nic < found.nics.size(); ++nic) {
    if (const auto at = groups.switch_of(nic)) {
      add_link(found, {nic_place(nic), switch_place(*at)}, Certainty::kInferred);
    }
  }
}

void fill_gaps(const Observations& observations, FoundFabric& found) {
  const bool are_limited = limit_answers(observations, found);
  const auto stays = [&](const Gap& gap) { return are_limited && is_joined(found, gap); };
  for (const auto& [gap, sources] : gaps_of(found)) {
    if (stays(gap)) continue;
    const std::vector<uint32_t> fitting = candidates_of(found, gap);
    if (fitting.size() == 1) fill(found, gap, fitting.front());
  }
  // What is left may be one silent switch or several: one stands for those with a common neighbor.
  std::map<uint32_t, uint32_t> filler_at;  // by the switch before or behind
  for (const auto& [gap, sources] : gaps_of(found)) {
    if (stays(gap)) continue;
    uint32_t filler = Place::kUnknown;
    for (const uint32_t end : {gap.first, gap.second}) {
      if (filler_at.contains(end)) filler = filler_at[end];
    }
    if (filler == Place::kUnknown) {
      filler = static_cast<uint32_t>(found.switches.size());
      found.switches.push_back({.certainty = Certainty::kGuessed});
    }
    filler_at[gap.first] = filler_at[gap.second] = filler;
    fill(found, gap, filler);
  }
}

}  // namespace heddle::probing
