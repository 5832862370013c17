// See delay_places.h.
#include "probing/delay_places.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/quantity.h"
#include "probing/params.h"
#include "probing/routes.h"

namespace heddle::probing {
namespace {

// NICs, and routers between them: longer routes take longer.
using Pair = std::tuple<uint32_t, uint32_t, size_t>;

struct Late {
  FlowKey key;
  std::vector<Hop> hops;
  Nanos excess;     // over the pair's fastest flow
  bool has_choice;  // the pair's flows take several routes
};

Nanos median(std::vector<Nanos> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

std::vector<Late> excesses(const Observations& observations, const FoundFabric& found) {
  std::map<Pair, Nanos> fastest;
  std::map<Pair, std::set<std::vector<Hop>>> routes;
  std::vector<std::pair<Pair, Late>> flows;
  for (const auto& [key, flow] : observations.flows) {
    const FoundRoute& route = found.routes.at(key);
    if (!route.is_complete() || !flow.one_way_min) continue;
    const Pair pair{key.from, key.to, route.switches.size()};
    const auto [at, is_new] = fastest.emplace(pair, *flow.one_way_min);
    if (!is_new) at->second = std::min(at->second, *flow.one_way_min);
    std::vector<Hop> hops = hops_of(key, route);
    routes[pair].insert(hops);
    flows.push_back({pair, {key, std::move(hops), *flow.one_way_min, false}});
  }
  std::vector<Late> made;
  for (auto& [pair, late] : flows) {
    late.excess = late.excess - fastest.at(pair);
    late.has_choice = routes.at(pair).size() > 1;
    if (late.has_choice) made.push_back(std::move(late));
  }
  return made;
}

bool is_over(const Late& late, const Hop& hop) {
  return std::find(late.hops.begin(), late.hops.end(), hop) != late.hops.end();
}

// Whether answers from the far end of the hop are late too, beside other flows of the same pairs at
// the same hop: false where the delay is behind it.
bool is_late_at(const Observations& observations, const std::vector<Late>& flows, const Hop& hop,
                Nanos excess) {
  using Position = std::tuple<uint32_t, uint32_t, size_t>;
  std::map<Position, std::vector<Nanos>> over;
  std::map<Position, std::vector<Nanos>> beside;
  for (const Late& late : flows) {
    const FlowProbes& flow = observations.flows.at(late.key);
    for (size_t i = 0; i < late.hops.size() && i < flow.hops.size(); ++i) {
      if (flow.hops[i].answered == 0) continue;
      auto& times = late.hops[i] == hop ? over : beside;
      times[{late.key.from, late.key.to, i}].push_back(flow.hops[i].round_trip_min);
    }
  }
  std::vector<Nanos> later;
  for (const auto& [position, times] : over) {
    const auto others = beside.find(position);
    if (others != beside.end()) later.push_back(median(times) - median(others->second));
  }
  return !later.empty() && median(later) > excess / 2;
}

// The first of the hops, in the order of travel, at which answers are late; if none are, all of
// them.
std::vector<Hop> places_of(const Observations& observations, const std::vector<Late>& flows,
                           const std::vector<Hop>& hops, Nanos excess) {
  const auto some = std::find_if(flows.begin(), flows.end(),
                                 [&](const Late& late) { return is_over(late, hops[0]); });
  for (const Hop& hop : some->hops) {
    const bool is_one = std::find(hops.begin(), hops.end(), hop) != hops.end();
    if (is_one && is_late_at(observations, flows, hop, excess)) return {hop};
  }
  return hops;
}

}  // namespace

void find_delayed_links(const Observations& observations, FoundFabric& found) {
  const std::vector<Late> flows = excesses(observations, found);
  std::map<Hop, std::vector<Nanos>> over;
  for (const Late& late : flows) {
    for (const Hop& hop : late.hops) over[hop].push_back(late.excess);
  }
  std::map<std::set<FlowKey>, std::vector<Hop>> suspects;  // by the flows over them
  for (const auto& [hop, delays] : over) {
    // All flows over it are late, but few of those beside it.
    const Nanos least = *std::min_element(delays.begin(), delays.end());
    if (delays.size() < params::kLeastLateFlows || least < params::kLeastDelay) continue;
    std::vector<Nanos> beside;
    std::set<FlowKey> keys;
    for (const Late& late : flows) {
      if (is_over(late, hop)) {
        keys.insert(late.key);
      } else {
        beside.push_back(late.excess);
      }
    }
    if (beside.empty() || median(beside) > least / 2) continue;
    suspects[keys].push_back(hop);
  }
  for (const auto& [keys, hops] : suspects) {
    const Nanos excess = median(over.at(hops.front()));
    Finding finding{.kind = FindingKind::kDelayed, .evidence = {}};
    finding.places = places_of(observations, flows, hops, excess);
    finding.bad_flows = static_cast<uint32_t>(keys.size());
    finding.good_flows = static_cast<uint32_t>(flows.size() - keys.size());
    finding.evidence = fmt::format("flows over it arrive {} later than others of the same hosts",
                                   duration_text(excess));
    found.findings.push_back(std::move(finding));
  }
}

uint32_t delay_groups(std::vector<Nanos> delays) {
  std::sort(delays.begin(), delays.end());
  uint32_t groups = 0;
  size_t begin = 0;
  for (size_t i = 1; i <= delays.size(); ++i) {
    if (i < delays.size() && delays[i] - delays[i - 1] < params::kLeastDelay) continue;
    groups += i - begin >= params::kLeastLateFlows ? 1 : 0;
    begin = i;
  }
  return groups;
}

}  // namespace heddle::probing
