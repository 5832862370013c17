// See dead_links.h. First those whose far end follows from the position: the NIC's switch at the
// first hop, the destination's at the last. They complete the graph; its neighbors are candidates
// for the others, except those that other flows reached the same way.
#include "probing/dead_links.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "probing/graph.h"
#include "probing/params.h"
#include "probing/routes.h"

namespace heddle::probing {
namespace {

using Pair = std::pair<uint32_t, uint32_t>;

class DeadLinks {
 public:
  DeadLinks(const Observations& observations, const SwitchGroups& groups, FoundFabric& found)
      : observations_(observations), groups_(groups), found_(found) {
    for (const auto& [key, flow] : observations.flows) {
      if (flow.routers) note_length({key.from, key.to}, *flow.routers);
      if (flow.delivered > 0) {
        reached_.insert(key.to);
        sent_ += flow.sent;
        lost_ += flow.sent - std::min(flow.delivered, flow.sent);
      }
      unlucky_ += flow.is_dead() ? 1 : 0;
      const auto answered = [](const HopProbes& hop) { return hop.answered > 0; };
      if (std::any_of(flow.hops.begin(), flow.hops.end(), answered)) hearing_.insert(key.from);
    }
    for (const auto& [key, route] : found.routes) {
      for (const Hop& hop : hops_of(key, route)) ++crossed_[hop];
    }
  }

  void find() {
    std::vector<FlowKey> left;
    for (const auto& [key, flow] : observations_.flows) {
      if (!flow.is_dead()) continue;
      if (is_deaf(key.to)) {
        note(key, {Hop{nic_place(key.to), nic_place(key.to)}});
      } else if (const auto hop = by_position(key)) {
        note(key, {*hop});
        if (hop->from.is_known() && hop->to.is_known())
          add_link(found_, *hop, Certainty::kInferred);
      } else {
        left.push_back(key);
      }
    }
    const Graph graph(found_);
    for (const FlowKey& key : left) note(key, by_neighbors(graph, key));
    for (const auto& [places, flows] : dead_) report(places, flows);
  }

 private:
  // Nothing arrives at its port, and answers of switches arrive at it.
  bool is_deaf(uint32_t nic) const { return !reached_.contains(nic) && hearing_.contains(nic); }

  // Whether this number of flows may lose all their packets by chance, each packet as usual in this
  // fabric: an upper bound of the binomial distribution. Flows that died elsewhere may have lost
  // their packets by chance too.
  bool is_by_chance(const std::vector<FlowKey>& flows) const {
    double sent = 0;
    for (const FlowKey& key : flows) sent += observations_.flows.at(key).sent;
    const auto count = static_cast<double>(flows.size());
    const double elsewhere = sent_ > 0 ? unlucky_ - count : 0;
    const double usual = (lost_ + elsewhere) / std::max(sent_ + elsewhere, 1.0);
    const double one = std::pow(std::max(usual, params::kBackgroundLoss), sent / count);
    const auto all = static_cast<double>(observations_.flows.size());
    const double expected = all * one;
    return std::pow(expected * std::exp(1.0) / count, count) * std::exp(-expected) >
           params::kByChance;
  }

  void note_length(const Pair& pair, uint32_t routers) {
    for (const Pair& each : {pair, Pair{pair.second, pair.first}}) {
      const auto [at, is_new] = lengths_.emplace(each, routers);
      if (!is_new) at->second = std::min(at->second, routers);
    }
  }

  void note(const FlowKey& key, std::vector<Hop> places) {
    dead_[std::move(places)].push_back(key);
  }

  // The last place that the flow's packets were seen at, and how many switches are before and at
  // it.
  std::pair<Place, size_t> last_seen(const FlowKey& key) const {
    const FoundRoute& route = found_.routes.at(key);
    for (size_t i = route.switches.size(); i > 0; --i) {
      if (route.switches[i - 1]) return {switch_place(*route.switches[i - 1]), i};
    }
    return {nic_place(key.from), 0};
  }

  std::optional<Hop> by_position(const FlowKey& key) const {
    const auto [last, hops] = last_seen(key);
    const auto first = groups_.switch_of(key.from);
    const auto own = groups_.switch_of(key.to);
    const Place unknown{topology::NodeKind::kSwitch};
    if (hops == 0 && first && crossed_.contains({last, switch_place(*first)})) {
      // Others pass: the first switch has no route, or does not answer for this destination.
      if (reached_.contains(key.to)) return Hop{switch_place(*first), unknown};
      return Hop{own ? switch_place(*own) : unknown, nic_place(key.to)};
    }
    if (hops == 0) return Hop{last, first ? switch_place(*first) : unknown};
    if (own && last == switch_place(*own)) return Hop{last, nic_place(key.to)};
    const auto length = lengths_.find({key.from, key.to});
    const bool is_next = length != lengths_.end() && length->second == hops + 1;
    if (is_next && own) return Hop{last, switch_place(*own)};
    return std::nullopt;
  }

  std::vector<Hop> by_neighbors(const Graph& graph, const FlowKey& key) const {
    const Place last = last_seen(key).first;
    const std::vector<uint32_t> distances = graph.distances(nic_place(key.to));
    std::vector<Hop> fresh;
    for (const Place& next : graph.neighbors(last)) {
      const bool is_nearer = distances[graph.number_of(next)] < distances[graph.number_of(last)];
      if (next.kind == topology::NodeKind::kNic || !is_nearer) continue;
      if (!crossed_.contains({last, next})) fresh.push_back({last, next});
    }
    std::sort(fresh.begin(), fresh.end());
    if (!fresh.empty()) return fresh;
    // Every known next hop works for others: it is one that no probe has reached.
    return {Hop{last, {topology::NodeKind::kSwitch}}};
  }

  // Flows that crossed one of the other links behind the same place.
  uint32_t passed_beside(const std::vector<Hop>& places) const {
    uint32_t flows = 0;
    for (const auto& [hop, count] : crossed_) {
      const bool is_beside = hop.from == places.front().from &&
                             std::find(places.begin(), places.end(), hop) == places.end();
      flows += is_beside ? count : 0;
    }
    return flows;
  }

  uint32_t passed_over(const Hop& hop) const {
    const auto at = crossed_.find(hop);
    return at == crossed_.end() ? 0 : at->second;
  }

  void report(const std::vector<Hop>& places, const std::vector<FlowKey>& flows) {
    if (is_by_chance(flows)) return;
    Finding finding{.kind = FindingKind::kDead, .places = places, .evidence = {}};
    finding.bad_flows = static_cast<uint32_t>(flows.size());
    finding.good_flows = passed_beside(places);
    finding.evidence = fmt::format("no packet of {} flows comes further; {} flows pass beside it",
                                   finding.bad_flows, finding.good_flows);
    if (places.front().from == places.front().to) {
      finding.certainty = Certainty::kGuessed;
      finding.evidence = fmt::format(
          "it receives nothing of {} flows, but answers of switches: a firewall on the UDP port?",
          finding.bad_flows);
      found_.findings.push_back(std::move(finding));
      return;
    }
    if (places.size() == 1) {
      const uint32_t over = passed_over(places.front());
      if (over > 0) {
        finding.certainty = Certainty::kGuessed;
        finding.evidence += fmt::format(", {} over it: perhaps one of several cables", over);
      }
      const Hop& place = places.front();
      if (!place.from.is_known() || !place.to.is_known()) finding.certainty = Certainty::kGuessed;
      found_.findings.push_back(std::move(finding));
      return;
    }
    // If one of them worked, some flow would have taken it.
    const double others = static_cast<double>(places.size());
    const double missed = std::pow(1 - 1 / others, flows.size());
    if (missed > params::kByChance) {
      found_.findings.push_back(std::move(finding));
      return;
    }
    for (const Hop& hop : places) {
      Finding each = finding;
      each.places = {hop};
      each.certainty = Certainty::kGuessed;
      found_.findings.push_back(std::move(each));
    }
  }

  const Observations& observations_;
  const SwitchGroups& groups_;
  FoundFabric& found_;
  std::set<uint32_t> reached_;        // NICs
  std::set<uint32_t> hearing_;        // NICs whose probes switches answered
  double sent_ = 0;                   // of flows that arrive
  double lost_ = 0;                   // of these
  double unlucky_ = 0;                // flows that do not arrive
  std::map<Pair, uint32_t> lengths_;  // routers between NICs
  std::map<Hop, uint32_t> crossed_;   // by how many flows
  std::map<std::vector<Hop>, std::vector<FlowKey>> dead_;
};

}  // namespace

void find_dead_links(const Observations& observations, const SwitchGroups& groups,
                     FoundFabric& found) {
  DeadLinks(observations, groups, found).find();
}

}  // namespace heddle::probing
