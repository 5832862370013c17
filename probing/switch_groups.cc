// See switch_groups.h. No two elements of one flow's different hops are joined: a packet does not
// cross a switch twice.
#include "probing/switch_groups.h"

#include <algorithm>

#include "probing/addresses.h"

namespace heddle::probing {
namespace {

// The other addresses of a /31, and of a /30.
std::vector<std::string> mates_of(const std::string& address) {
  const std::optional<uint32_t> value = ipv4_of(address);
  if (!value) return {};
  std::vector<std::string> mates = {ipv4_text(*value ^ 1)};
  const uint32_t low = *value & 3;
  if (low == 1 || low == 2) mates.push_back(ipv4_text(*value ^ 3));
  return mates;
}

}  // namespace

SwitchGroups::SwitchGroups(const Observations& observations)
    : nics_(static_cast<uint32_t>(observations.nics.size())), exists_(nics_) {
  parents_.resize(nics_);
  for (uint32_t i = 0; i < nics_; ++i) parents_[i] = i;
  for (const auto& [key, flow] : observations.flows) {
    for (const HopProbes& hop : flow.hops) {
      if (!hop.router.empty()) element_of(hop.router);
    }
  }
  members_.resize(parents_.size());
  for (uint32_t i = 0; i < parents_.size(); ++i) members_[i] = {i};
  certainties_.assign(parents_.size(), Certainty::kSeen);
  note_conflicts(observations);
  join_by_position(observations);
  join_by_subnet(observations);
  number_switches(observations);
}

uint32_t SwitchGroups::root(uint32_t element) {
  while (parents_[element] != element) element = parents_[element] = parents_[parents_[element]];
  return element;
}

uint32_t SwitchGroups::element_of(const std::string& address) {
  const auto [at, is_new] = addresses_.emplace(address, static_cast<uint32_t>(parents_.size()));
  if (is_new) parents_.push_back(at->second);
  return at->second;
}

void SwitchGroups::note_conflicts(const Observations& observations) {
  const auto add = [&](uint32_t one, uint32_t other) {
    if (one != other) conflicts_.emplace(std::min(one, other), std::max(one, other));
  };
  for (const auto& [key, flow] : observations.flows) {
    std::vector<uint32_t> crossed;
    for (const HopProbes& hop : flow.hops) {
      if (hop.router.empty() || hop.varies) continue;
      const uint32_t element = element_of(hop.router);
      for (const uint32_t before : crossed) add(before, element);
      crossed.push_back(element);
    }
    if (flow.routers && *flow.routers > 1) add(key.from, key.to);
  }
}

void SwitchGroups::join(uint32_t one, uint32_t other, Certainty certainty) {
  uint32_t a = root(one);
  uint32_t b = root(other);
  if (a == b) return;
  for (const uint32_t x : members_[a]) {
    for (const uint32_t y : members_[b]) {
      if (conflicts_.contains({std::min(x, y), std::max(x, y)})) return;
    }
  }
  // What is joined has one certainty, unless nothing had to be joined: one address.
  const auto addresses = [&](uint32_t of) {
    return std::count_if(members_[of].begin(), members_[of].end(),
                         [&](uint32_t each) { return each >= nics_; });
  };
  const bool is_evident = addresses(a) == 0 || addresses(b) == 0;
  const Certainty joined = is_evident ? Certainty::kSeen : certainty;
  certainties_[a] = std::max({certainties_[a], certainties_[b], joined});
  parents_[b] = a;
  members_[a].insert(members_[a].end(), members_[b].begin(), members_[b].end());
  members_[b].clear();
}

void SwitchGroups::join_by_position(const Observations& observations) {
  for (const auto& [key, flow] : observations.flows) {
    const bool answered = !flow.hops.empty() && !flow.hops[0].router.empty();
    if (answered || flow.routers.value_or(0) > 0) exists_[key.from] = true;
    if (answered) join(key.from, element_of(flow.hops[0].router), Certainty::kInferred);
    if (flow.routers.value_or(0) == 0) continue;
    exists_[key.to] = true;
    if (*flow.routers == 1) join(key.from, key.to, Certainty::kInferred);
    if (flow.hops.size() < *flow.routers) continue;
    const HopProbes& last = flow.hops[*flow.routers - 1];
    if (last.router.empty() || last.varies) continue;
    join(key.to, element_of(last.router), Certainty::kInferred);
  }
}

void SwitchGroups::join_by_subnet(const Observations& observations) {
  for (const auto& [key, flow] : observations.flows) {
    for (size_t i = 1; i < flow.hops.size(); ++i) {
      const HopProbes& before = flow.hops[i - 1];
      const HopProbes& hop = flow.hops[i];
      if (before.router.empty() || hop.router.empty() || before.varies || hop.varies) continue;
      for (const std::string& mate : mates_of(hop.router)) {
        const auto known = addresses_.find(mate);
        if (known == addresses_.end()) continue;
        join(element_of(before.router), known->second, Certainty::kGuessed);
        break;
      }
    }
  }
}

void SwitchGroups::number_switches(const Observations& observations) {
  const auto number = [&](uint32_t element) {
    const auto [at, is_new] =
        numbers_.emplace(root(element), static_cast<uint32_t>(switches_.size()));
    if (is_new) switches_.push_back({.certainty = certainties_[root(element)]});
    return at->second;
  };
  for (uint32_t nic = 0; nic < observations.nics.size(); ++nic) {
    if (exists_[nic]) number(nic);
  }
  for (const auto& [address, element] : addresses_) {
    switches_[number(element)].addresses.push_back(address);
  }
  for (FoundSwitch& each : switches_) {
    if (each.addresses.empty()) each.certainty = Certainty::kInferred;
  }
}

std::optional<uint32_t> SwitchGroups::switch_at(const std::string& address) const {
  const auto found = addresses_.find(address);
  if (found == addresses_.end()) return std::nullopt;
  uint32_t element = found->second;
  while (parents_[element] != element) element = parents_[element];
  return numbers_.at(element);
}

std::optional<uint32_t> SwitchGroups::switch_of(uint32_t nic) const {
  if (!exists_[nic]) return std::nullopt;
  uint32_t element = nic;
  while (parents_[element] != element) element = parents_[element];
  return numbers_.at(element);
}

}  // namespace heddle::probing
