// See rank_order.h.
#include "planner/rank_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "planner/params.h"

namespace heddle::planner {
namespace {

// Hosts by place, a leaf, and the links between leaves.
class Descent {
 public:
  Descent(const topology::Topology& topology, const Demand& demand) : fabric_(topology, {}) {
    std::map<uint32_t, uint32_t> number;  // of hosts that send or receive
    for (const FlowDemand& flow : demand.flows) {
      for (const uint32_t end : {flow.from, flow.to}) {
        const uint32_t host = demand.endpoints[end].host;
        if (number.try_emplace(host, hosts_.size()).second) hosts_.push_back(host);
      }
    }
    neighbors_.resize(hosts_.size());
    for (const FlowDemand& flow : demand.flows) {
      const uint32_t from = number[demand.endpoints[flow.from].host];
      const uint32_t to = number[demand.endpoints[flow.to].host];
      if (from == to) continue;
      neighbors_[from][to] += static_cast<double>(flow.bytes);
      neighbors_[to][from] += static_cast<double>(flow.bytes);
    }
  }

  size_t hosts() const { return hosts_.size(); }

  // A host whose cable leads to another host; nothing: each has a switch.
  std::optional<uint32_t> without_switch() const {
    for (const uint32_t host : hosts_) {
      if (fabric_.switch_of(fabric_.nics_of(host).front()) == kNone) return host;
    }
    return std::nullopt;
  }

  // Leaves are numbered by their first host; each host begins at its own.
  void place() {
    std::map<uint32_t, uint32_t> leaf_of_switch;
    std::vector<uint32_t> switches;
    for (const uint32_t host : hosts_) {
      const uint32_t leaf = fabric_.switch_of(fabric_.nics_of(host).front());
      if (leaf_of_switch.try_emplace(leaf, switches.size()).second) switches.push_back(leaf);
      leaf_.push_back(leaf_of_switch[leaf]);
    }
    leaves_ = switches.size();
    for (const uint32_t from : switches) {
      const std::vector<uint16_t>& distances = fabric_.distances_to(from);
      for (const uint32_t to : switches) distance_.push_back(distances[to]);
    }
    at_ = hosts_;
    cost_.resize(hosts_.size() * leaves_);
    for (uint32_t i = 0; i < hosts_.size(); ++i) cost(i);
  }

  double crossing() const {
    double sum = 0;
    for (uint32_t i = 0; i < hosts_.size(); ++i) sum += cost_[i * leaves_ + leaf_[i]];
    return sum / 2;
  }

  // The pair that saves most; nothing: none saves enough.
  bool best(double least, RankSwap& swap) {
    double most = least;
    std::pair<uint32_t, uint32_t> pair;
    for (uint32_t i = 0; i < hosts_.size(); ++i) {
      for (uint32_t j = i + 1; j < hosts_.size(); ++j) {
        if (leaf_[i] == leaf_[j] || gain_without_own(i, j) <= most) continue;
        const double saved = gain(i, j);
        if (saved <= most) continue;
        most = saved;
        pair = {i, j};
      }
    }
    if (most <= least) return false;
    swap = {at_[pair.first], at_[pair.second], 0};
    exchange(pair.first, pair.second);
    swap.crossing = crossing();
    return true;
  }

  std::vector<uint32_t> result(size_t hosts) const {
    std::vector<uint32_t> to(hosts);
    for (uint32_t i = 0; i < hosts; ++i) to[i] = i;
    for (uint32_t i = 0; i < hosts_.size(); ++i) to[hosts_[i]] = at_[i];
    return to;
  }

 private:
  double distance(uint32_t from, uint32_t to) const { return distance_[from * leaves_ + to]; }
  // What the host's traffic crosses if it were at each leaf.
  void cost(uint32_t i) {
    for (uint32_t leaf = 0; leaf < leaves_; ++leaf) {
      double sum = 0;
      for (const auto& [other, bytes] : neighbors_[i]) sum += bytes * distance(leaf, leaf_[other]);
      cost_[i * leaves_ + leaf] = sum;
    }
  }
  double gain_without_own(uint32_t i, uint32_t j) const {
    return cost_[i * leaves_ + leaf_[i]] + cost_[j * leaves_ + leaf_[j]] -
           cost_[i * leaves_ + leaf_[j]] - cost_[j * leaves_ + leaf_[i]];
  }
  // The traffic between the two crosses the same before and after.
  double gain(uint32_t i, uint32_t j) const {
    const auto found = neighbors_[i].find(j);
    const double between = found == neighbors_[i].end() ? 0 : found->second;
    return gain_without_own(i, j) - 2 * between * distance(leaf_[i], leaf_[j]);
  }
  void exchange(uint32_t i, uint32_t j) {
    std::swap(leaf_[i], leaf_[j]);
    std::swap(at_[i], at_[j]);
    for (const uint32_t each : {i, j}) {
      cost(each);
      for (const auto& [other, bytes] : neighbors_[each]) cost(other);
    }
  }

  Fabric fabric_;
  std::vector<uint32_t> hosts_;  // as they are
  std::vector<std::map<uint32_t, double>> neighbors_;
  std::vector<uint32_t> leaf_;  // where each host's ranks are now
  std::vector<uint32_t> at_;    // the host that they are on
  size_t leaves_ = 0;
  std::vector<uint16_t> distance_;  // by two leaves
  std::vector<double> cost_;        // by host and leaf
};

}  // namespace

Result<RankOrder> order_ranks(const topology::Topology& topology, const Demand& demand,
                              uint32_t most) {
  Descent descent(topology, demand);
  if (descent.hosts() > params::kMostOrderedHosts) {
    return fail(ErrorCode::kInvalid, "cannot order ranks",
                std::to_string(descent.hosts()) + " hosts send or receive, more than " +
                    std::to_string(params::kMostOrderedHosts),
                "order the ranks of one job at a time");
  }
  if (const std::optional<uint32_t> host = descent.without_switch()) {
    return fail(
        ErrorCode::kInvalid, "cannot order ranks",
        "host " + topology.hosts[*host].name + " is on no switch, but on a cable to another",
        "leave the order as it is");
  }
  descent.place();
  RankOrder order;
  order.crossing = descent.crossing();
  RankSwap swap;
  while (order.swaps.size() < most && descent.best(order.crossing * params::kLeastSwapGain, swap)) {
    order.swaps.push_back(swap);
  }
  order.to = descent.result(topology.hosts.size());
  return order;
}

Demand reordered(const Demand& demand, const std::vector<uint32_t>& to) {
  Demand moved = demand;
  for (PathEndpoint& endpoint : moved.endpoints) endpoint.host = to[endpoint.host];
  return moved;
}

}  // namespace heddle::planner
