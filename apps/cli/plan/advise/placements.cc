// See placements.h.
#include "apps/cli/plan/advise/placements.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "apps/cli/plan/params.h"
#include "planner/rank_order.h"

namespace heddle::cli {
namespace {

// The switch of each host's first NIC; hosts without one count as their own.
std::vector<uint32_t> leaves_of(const topology::Topology& topology) {
  constexpr uint32_t kUnknown = UINT32_MAX;
  std::vector<uint32_t> leaves(topology.hosts.size(), kUnknown);
  for (const topology::Link& link : topology.links) {
    const bool a_is_nic = link.a.kind == topology::NodeKind::kNic;
    const topology::Node& nic = a_is_nic ? link.a : link.b;
    const topology::Node& other = a_is_nic ? link.b : link.a;
    if (nic.kind != topology::NodeKind::kNic || other.kind == topology::NodeKind::kNic) continue;
    uint32_t& leaf = leaves[topology.nics[nic.index].host];
    leaf = std::min(leaf, other.index);
  }
  for (uint32_t host = 0; host < leaves.size(); ++host) {
    if (leaves[host] == kUnknown) {
      leaves[host] = static_cast<uint32_t>(topology.switches.size()) + host;
    }
  }
  return leaves;
}

std::vector<uint32_t> by_leaf(std::vector<uint32_t> hosts, const std::vector<uint32_t>& leaves) {
  std::stable_sort(hosts.begin(), hosts.end(), [&leaves](uint32_t one, uint32_t other) {
    return std::pair(leaves[one], one) < std::pair(leaves[other], other);
  });
  return hosts;
}

// As many hosts on as few leaves as possible, the largest leaves first.
std::vector<uint32_t> packed(size_t ranks, const std::vector<uint32_t>& leaves) {
  std::map<uint32_t, std::vector<uint32_t>> members;
  for (uint32_t host = 0; host < leaves.size(); ++host) members[leaves[host]].push_back(host);
  std::vector<std::vector<uint32_t>> groups;
  for (auto& [leaf, hosts] : members) groups.push_back(std::move(hosts));
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& one, const auto& other) { return one.size() > other.size(); });
  std::vector<uint32_t> hosts;
  for (const std::vector<uint32_t>& group : groups) {
    hosts.insert(hosts.end(), group.begin(), group.end());
    if (hosts.size() >= ranks) break;
  }
  hosts.resize(ranks);
  return hosts;
}

size_t leaves_used(const std::vector<uint32_t>& hosts, const std::vector<uint32_t>& leaves) {
  std::set<uint32_t> used;
  for (const uint32_t host : hosts) used.insert(leaves[host]);
  return used.size();
}

}  // namespace

std::vector<Placement> placements_of(const RecordedSetting& setting,
                                     const planner::Demand& demand) {
  const std::vector<uint32_t> leaves = leaves_of(setting.topology);
  std::vector<Placement> placements;
  const auto add = [&](const std::string& name, std::vector<uint32_t> hosts, bool moves) {
    if (hosts == setting.hosts) return;
    for (const Placement& each : placements) {
      if (each.hosts == hosts) return;
    }
    placements.push_back({name, std::move(hosts), moves});
  };
  const size_t used = leaves_used(setting.hosts, leaves);
  const Result<planner::RankOrder> order =
      planner::order_ranks(setting.topology, demand, params::plan::kMostSwaps);
  if (used > 1 && order && !order->swaps.empty()) {
    std::vector<uint32_t> hosts;
    for (const uint32_t host : setting.hosts) hosts.push_back(order->to[host]);
    add("ranks swapped so that less crosses between leaves", std::move(hosts), false);
  }
  if (used > 1) add("ranks in the order of leaves", by_leaf(setting.hosts, leaves), false);
  const std::vector<uint32_t> fewest = packed(setting.hosts.size(), leaves);
  if (leaves_used(fewest, leaves) < used) add("ranks on the fewest leaves", fewest, true);
  return placements;
}

std::string host_list(const std::vector<uint32_t>& hosts, const topology::Topology& topology) {
  std::string text;
  for (const uint32_t host : hosts) text += (text.empty() ? "" : ",") + topology.hosts[host].name;
  return text;
}

}  // namespace heddle::cli
