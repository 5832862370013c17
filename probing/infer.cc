// See infer.h.
#include "probing/infer.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "probing/dead_links.h"
#include "probing/delay_places.h"
#include "probing/graph.h"
#include "probing/loss_places.h"
#include "probing/missing_links.h"
#include "probing/rate_places.h"
#include "probing/routes.h"
#include "probing/switch_groups.h"

namespace heddle::probing {
namespace {

void set_tiers(FoundFabric& found) {
  const Graph graph(found);
  std::deque<uint32_t> next;
  const auto visit = [&](uint32_t at, uint32_t tier) {
    if (found.switches[at].tier != 0) return;
    found.switches[at].tier = tier;
    next.push_back(at);
  };
  for (uint32_t nic = 0; nic < found.nics.size(); ++nic) {
    for (const Place& each : graph.neighbors(nic_place(nic))) {
      if (each.kind == topology::NodeKind::kSwitch) visit(each.index, 1);
    }
  }
  while (!next.empty()) {
    const uint32_t at = next.front();
    next.pop_front();
    for (const Place& each : graph.neighbors(switch_place(at))) {
      if (each.kind == topology::NodeKind::kSwitch) {
        visit(each.index, found.switches[at].tier + 1);
      }
    }
  }
  for (FoundLink& link : found.links) {  // end a is the lower one
    const bool between =
        link.a.kind == topology::NodeKind::kSwitch && link.b.kind == topology::NodeKind::kSwitch;
    if (!between || found.switches[link.a.index].tier <= found.switches[link.b.index].tier)
      continue;
    std::swap(link.a, link.b);
    std::swap(link.forward, link.backward);
  }
}

// Names of the site where it knows them; else by tier, in the order of addresses as they were
// found.
void set_names(const NameBook& names, FoundFabric& found) {
  std::set<std::string> used;
  for (const ProbedNic& nic : found.nics) used.insert(nic.host);
  for (FoundSwitch& each : found.switches) {
    for (const std::string& address : each.addresses) {
      const std::optional<std::string> known = names ? names(address) : std::nullopt;
      if (!each.name.empty() || !known || used.contains(*known)) continue;
      each.name = *known;
      each.is_named = true;
      used.insert(*known);
    }
  }
  for (FoundSwitch& each : found.switches) {
    const std::string kind = each.addresses.empty() ? "silent"
                             : each.tier == 1       ? "leaf"
                             : each.tier == 2       ? "spine"
                             : each.tier == 3       ? "core"
                                                    : "switch";
    for (uint32_t number = 0; each.name.empty(); ++number) {
      const std::string name = fmt::format("{}{}", kind, number);
      if (used.insert(name).second) each.name = name;
    }
  }
}

void count_flows(FoundFabric& found) {
  for (FoundLink& link : found.links) link.forward.flows = link.backward.flows = 0;
  for (const auto& [key, route] : found.routes) {
    for (const Hop& hop : hops_of(key, route)) {
      const auto at = link_between(found, hop.from, hop.to);
      if (!at) continue;
      FoundLink& link = found.links[*at];
      ++(link.a == hop.from ? link.forward : link.backward).flows;
    }
  }
}

// Routes over a switch that the delays of its flows separate.
uint32_t groups_over(const Observations& observations, const FoundFabric& found, uint32_t at) {
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Nanos>> delays;
  for (const auto& [key, route] : found.routes) {
    const auto& flow = observations.flows.at(key);
    const auto& crossed = route.switches;
    const bool is_over = std::find(crossed.begin(), crossed.end(), at) != crossed.end();
    if (is_over && flow.one_way_min) delays[{key.from, key.to}].push_back(*flow.one_way_min);
  }
  uint32_t most = 0;
  for (const auto& [pair, of_pair] : delays) most = std::max(most, delay_groups(of_pair));
  return most;
}

// Switches that never answer, and flows whose packets took several routes.
void note_limits(const Observations& observations, FoundFabric& found) {
  for (uint32_t i = 0; i < found.switches.size(); ++i) {
    if (!found.switches[i].addresses.empty()) continue;
    Finding finding{.kind = FindingKind::kSilent, .evidence = {}};
    finding.places = {{switch_place(i), switch_place(i)}};
    finding.certainty = found.switches[i].certainty;
    finding.evidence = "it sends no ICMP \"time exceeded\": it may stand for several switches";
    if (const uint32_t groups = groups_over(observations, found, i); groups > 1) {
      finding.evidence += fmt::format("; delays show at least {}", groups);
    }
    found.findings.push_back(std::move(finding));
  }
  Finding sprayed{.kind = FindingKind::kSprayed, .evidence = {}};
  for (const auto& [key, flow] : observations.flows) {
    sprayed.bad_flows += std::any_of(flow.hops.begin(), flow.hops.end(),
                                     [](const HopProbes& hop) { return hop.varies; })
                             ? 1
                             : 0;
  }
  if (sprayed.bad_flows == 0) return;
  sprayed.evidence = fmt::format("packets of {} flows took several routes", sprayed.bad_flows);
  found.findings.push_back(std::move(sprayed));
}

}  // namespace

FoundFabric infer(const Observations& observations, const NameBook& names) {
  const SwitchGroups groups(observations);
  FoundFabric found;
  found.nics = observations.nics;
  found.switches = groups.switches();
  found.routes = resolve_routes(observations, groups);
  make_links(observations, groups, found);
  find_dead_links(observations, groups, found);
  fill_gaps(observations, found);
  count_flows(found);
  set_tiers(found);
  set_names(names, found);
  find_lossy_links(observations, found);
  find_slow_links(observations, found);
  find_delayed_links(observations, found);
  find_missing_links(found);
  note_limits(observations, found);
  return found;
}

}  // namespace heddle::probing
