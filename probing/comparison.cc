// See comparison.h.
#include "probing/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/quantity.h"
#include "probing/params.h"
#include "probing/switch_match.h"
#include "topology/names.h"

namespace heddle::probing {
namespace {

using topology::Node;
using topology::NodeKind;

using Ends = std::pair<Node, Node>;

struct NodeOrder {
  bool operator()(const Node& a, const Node& b) const {
    return std::tie(a.kind, a.index) < std::tie(b.kind, b.index);
  }
};

Ends ends_of(const Node& a, const Node& b) { return NodeOrder{}(a, b) ? Ends{a, b} : Ends{b, a}; }

struct EndsOrder {
  bool operator()(const Ends& a, const Ends& b) const {
    return std::tie(a.first.kind, a.first.index, a.second.kind, a.second.index) <
           std::tie(b.first.kind, b.first.index, b.second.kind, b.second.index);
  }
};

// Links of the topology between the same two nodes.
using LinkMap = std::map<Ends, std::vector<uint32_t>, EndsOrder>;

// Links on shortest routes between these NICs of the topology.
class VisibleLinks {
 public:
  VisibleLinks(const topology::Topology& truth, const std::vector<uint32_t>& nics)
      : truth_(truth), at_(truth.nics.size() + truth.switches.size()), seen_(truth.links.size()) {
    for (uint32_t i = 0; i < truth.links.size(); ++i) {
      at_[number_of(truth.links[i].a)].push_back(i);
      at_[number_of(truth.links[i].b)].push_back(i);
    }
    for (const uint32_t to : nics) see_routes_to(to, nics);
  }

  bool operator[](uint32_t link) const { return seen_[link]; }

 private:
  uint32_t number_of(const Node& node) const {
    return node.kind == NodeKind::kNic ? node.index
                                       : static_cast<uint32_t>(truth_.nics.size()) + node.index;
  }
  Node far_end(uint32_t link, const Node& node) const {
    return truth_.links[link].a == node ? truth_.links[link].b : truth_.links[link].a;
  }

  void see_routes_to(uint32_t to, const std::vector<uint32_t>& nics) {
    std::vector<uint32_t> hops(at_.size(), UINT32_MAX);
    std::deque<Node> next = {{NodeKind::kNic, to}};
    hops[to] = 0;
    while (!next.empty()) {
      const Node at = next.front();
      next.pop_front();
      if (at.kind == NodeKind::kNic && at.index != to) continue;
      for (const uint32_t link : at_[number_of(at)]) {
        const Node far = far_end(link, at);
        if (hops[number_of(far)] != UINT32_MAX) continue;
        hops[number_of(far)] = hops[number_of(at)] + 1;
        next.push_back(far);
      }
    }
    std::set<Node, NodeOrder> on_routes;
    for (const uint32_t from : nics) {
      const bool is_other = truth_.nics[from].host != truth_.nics[to].host;
      if (is_other && hops[from] != UINT32_MAX) next.push_back({NodeKind::kNic, from});
    }
    while (!next.empty()) {
      const Node at = next.front();
      next.pop_front();
      if (!on_routes.insert(at).second) continue;
      for (const uint32_t link : at_[number_of(at)]) {
        const Node far = far_end(link, at);
        if (hops[number_of(far)] + 1 != hops[number_of(at)]) continue;
        seen_[link] = true;
        next.push_back(far);
      }
    }
  }

  const topology::Topology& truth_;
  std::vector<std::vector<uint32_t>> at_;  // links of each node
  std::vector<bool> seen_;
};

class Comparer {
 public:
  Comparer(const FoundFabric& found, const topology::Topology& truth)
      : found_(found), truth_(truth) {}

  Comparison compare() {
    match_nics();
    const VisibleLinks visible(truth_, probed_);
    for (uint32_t i = 0; i < truth_.links.size(); ++i) {
      if (!visible[i]) {
        ++made_.invisible;
        continue;
      }
      links_[ends_of(truth_.links[i].a, truth_.links[i].b)].push_back(i);
    }
    std::vector<std::pair<Node, Node>> pairs;
    for (const auto& [ends, links] : links_) pairs.push_back(ends);
    made_.switches = match_switches(found_, truth_, {nics_, pairs});
    compare_switches();
    compare_links();
    if (made_.invisible > 0) {
      made_.notes.push_back(fmt::format("{} of the topology are on no route between these hosts",
                                        counted_text(made_.invisible, "link")));
    }
    return std::move(made_);
  }

 private:
  void differ(DifferenceKind kind, std::string subject, std::string why) {
    made_.differences.push_back({kind, std::move(subject), std::move(why)});
  }

  void match_nics() {
    for (const ProbedNic& nic : found_.nics) {
      std::optional<uint32_t> same;
      for (uint32_t i = 0; i < truth_.nics.size(); ++i) {
        if (truth_.hosts[truth_.nics[i].host].name == nic.host &&
            topology::nic_number(truth_, i) == nic.number) {
          same = i;
        }
      }
      nics_.push_back(same);
      if (same) probed_.push_back(*same);
      if (!same) {
        differ(DifferenceKind::kExtra, fmt::format("{}.{}", nic.host, nic.number),
               "the topology has no such NIC");
      }
    }
  }

  void compare_switches() {
    std::set<uint32_t> matched;
    for (uint32_t i = 0; i < made_.switches.size(); ++i) {
      if (made_.switches[i]) matched.insert(*made_.switches[i]);
      if (!made_.switches[i]) {
        differ(DifferenceKind::kExtra, found_.switches[i].name,
               "no switch of the topology has these neighbors");
      }
    }
    std::set<uint32_t> missing;
    for (const auto& [ends, links] : links_) {
      for (const Node& end : {ends.first, ends.second}) {
        if (end.kind == NodeKind::kSwitch && !matched.contains(end.index))
          missing.insert(end.index);
      }
    }
    for (const uint32_t each : missing) {
      differ(DifferenceKind::kMissing, truth_.switches[each].name, "no probe reached it");
    }
  }

  std::optional<Node> node_of(const Place& place) const {
    if (!place.is_known()) return std::nullopt;
    const auto& same =
        place.kind == NodeKind::kNic ? nics_[place.index] : made_.switches[place.index];
    return same ? std::optional(Node{place.kind, *same}) : std::nullopt;
  }

  void compare_links() {
    std::set<Ends, EndsOrder> seen;
    for (const FoundLink& link : found_.links) {
      const auto a = node_of(link.a);
      const auto b = node_of(link.b);
      if (!a || !b) continue;  // its end is a difference
      const Ends ends = ends_of(*a, *b);
      const auto same = links_.find(ends);
      if (same == links_.end()) {
        differ(DifferenceKind::kExtra, name_of(found_, link.a) + " - " + name_of(found_, link.b),
               "the topology has no such link");
        continue;
      }
      seen.insert(ends);
      ++made_.links;
      compare_cables(link, same->second);
    }
    for (const auto& [ends, links] : links_) {
      if (seen.contains(ends)) continue;
      differ(DifferenceKind::kMissing, topology::link_label(truth_, links.front()),
             "no probe crossed it");
    }
  }

  void compare_cables(const FoundLink& link, const std::vector<uint32_t>& same) {
    const std::string label = topology::link_label(truth_, same.front());
    if (link.cables > same.size()) {
      differ(DifferenceKind::kExtra, label,
             fmt::format("{} cables, the topology has {}", link.cables, same.size()));
    }
    if (link.cables < same.size()) {
      made_.notes.push_back(
          fmt::format("{}: {} cables, which answers do not separate", label, same.size()));
    }
    const auto rate = static_cast<double>(truth_.links[same.front()].shape.rate.count);
    compare_rate(label, {link.a, link.b}, link.forward, rate);
    compare_rate(label, {link.b, link.a}, link.backward, rate);
  }

  void compare_rate(const std::string& label, const Hop& hop, const DirectionState& state,
                    double rate) {
    const auto measured = static_cast<double>(state.rate.count);
    if (!state.rate_is_exact || measured >= rate * params::kSlowShare) return;
    differ(DifferenceKind::kWrong, label,
           fmt::format("{}: {}, in the topology {}", name_of(found_, hop), rate_text(measured),
                       rate_text(rate)));
  }

  const FoundFabric& found_;
  const topology::Topology& truth_;
  Comparison made_;
  std::vector<std::optional<uint32_t>> nics_;
  std::vector<uint32_t> probed_;
  LinkMap links_;  // those that routes cross
};

}  // namespace

Comparison compare(const FoundFabric& found, const topology::Topology& truth) {
  return Comparer(found, truth).compare();
}

}  // namespace heddle::probing
